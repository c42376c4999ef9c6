// What the two forms of orthogonal matching pursuit share: options, the steps, and their results.
#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "casters.hpp"
#include "threads.hpp"

namespace greedyexp {

struct PursuitOptions {
    bool normalize;  // score by the loss decrease, not by the squared correlation
    bool refit;      // score by the loss decrease after a refit; requires ``normalize``
};

// The fits of one task after each of the counts. Features are never removed, so the supports are
// the beginnings of the last one.
struct TaskFits {
    std::vector<Index> support;  // in the order of entry
    std::vector<Index> sizes;    // of the support after each count
    std::vector<double> losses;  // after each count
    std::vector<double> values;  // coefficients after each count whose fit is kept
    double smallest = 1.0;       // smallest squared sine of an added column to the span
};

// What is known of all pursuits together.
struct PursuitSummary {
    Index reached = 0;  // largest number of features
    Index skipped = 0;  // entries left out because they lie in the span of their support

    // Add features until no feature gains or all fits are good enough; call ``write(k)`` when the
    // count k is reached, or the end before it.
    template <class Pursuit, class Write>
    void follow(Pursuit &pursuit, View<const Index> counts, Interrupts &interrupts, Write write) {
        Index taken = 0;
        bool ended = false;
        for (Index k = 0; k < counts.size();) {
            if (taken == counts[k] || ended) {
                write(k++);
                continue;
            }
            interrupts.check();
            const Index i = pursuit.fits_well() ? -1 : pursuit.best_feature();
            if (i < 0) {
                ended = true;
                continue;
            }
            const Index barred = pursuit.add_feature(i);
            skipped += barred;
            taken += barred == 0;
        }
        reached = std::max(reached, taken);
    }
};

// The fits of all tasks, in the order of tasks.
class PursuitFits {
  public:
    // With ``end``, the coefficients are kept only for the last count.
    PursuitFits(Index tasks, Index counts, bool end) : fits_(tasks), counts_(counts), end_(end) {}

    // Write the fit of a task after counts[k] features; ``values`` are called only if it is kept.
    template <class Values>
    void write(Index k, Index task, View<const Index> support, Values values, double loss) {
        TaskFits &fits = fits_[task];
        fits.sizes.push_back(support.size());
        fits.losses.push_back(loss);
        if (k + 1 == counts_) fits.support.assign(support.begin(), support.end());
        if (!end_ || k + 1 == counts_) {
            const View<const double> solution = values();
            fits.values.insert(fits.values.end(), solution.begin(), solution.end());
        }
    }

    void note_sine(Index task, double sine) {
        fits_[task].smallest = std::min(fits_[task].smallest, sine);
    }

    using Numbers = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
    using Indices = nb::ndarray<nb::numpy, Index, nb::ndim<1>>;
    // ends, entries, values, losses, sizes, reached, skipped, smallest
    using Result = std::tuple<Indices, Indices, Numbers, Numbers, Indices, Index, Index, Numbers>;

    // Add what is known of pursuits whose fits were written; threads call this.
    void add(const PursuitSummary &found) {
        const std::lock_guard lock(adding_);
        summary_.reached = std::max(summary_.reached, found.reached);
        summary_.skipped += found.skipped;
    }

    // The kept fits in compressed rows, with entries feature * r + task in increasing order, the
    // sums of losses and sizes over the tasks, and what is known of the pursuits.
    Result result(Index features) const {
        const auto r = static_cast<Index>(fits_.size());
        std::vector<Index> ends{0}, entries, sizes(counts_, 0), next(features + 1);
        std::vector<double> values, losses(counts_, 0.0), smallest;
        for (const TaskFits &fits : fits_) {
            smallest.push_back(fits.smallest);
            for (Index k = 0; k < counts_; ++k) {
                losses[k] += fits.losses[k];
                sizes[k] += fits.sizes[k];
            }
        }
        std::vector<std::size_t> read(fits_.size(), 0);
        for (Index k = end_ ? counts_ - 1 : 0; k < counts_; ++k) {
            const Index start = ends.back();
            // A sort by counting: tasks are visited in order, so they increase for each feature.
            std::fill(next.begin(), next.end(), 0);
            for (const TaskFits &fits : fits_)
                for (Index t = 0; t < fits.sizes[k]; ++t) ++next[fits.support[t] + 1];
            for (Index i = 0; i < features; ++i) next[i + 1] += next[i];
            entries.resize(start + sizes[k]);
            values.resize(start + sizes[k]);
            for (Index j = 0; j < r; ++j) {
                const TaskFits &fits = fits_[j];
                for (Index t = 0; t < fits.sizes[k]; ++t) {
                    const Index i = fits.support[t], at = start + next[i]++;
                    entries[at] = i * r + j;
                    values[at] = fits.values[read[j]++];
                }
            }
            ends.push_back(start + sizes[k]);
        }
        return {to_numpy(std::move(ends)),
                to_numpy(std::move(entries)),
                to_numpy(std::move(values)),
                to_numpy(std::move(losses)),
                to_numpy(std::move(sizes)),
                summary_.reached,
                summary_.skipped,
                to_numpy(std::move(smallest))};
    }

  private:
    std::vector<TaskFits> fits_;
    Index counts_;
    bool end_;
    PursuitSummary summary_;
    std::mutex adding_;
};

}  // namespace greedyexp
