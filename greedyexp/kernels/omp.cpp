// Orthogonal matching pursuit; the contract is in omp.py.
//
// Features are never removed, so the rows of W = L^{-1} G_S are kept for all features, where L is
// the Cholesky factor of G_SS. A new feature i then costs one pass over them: L gains the row
// W[:, i], W gains the row (G_i - W[:, i]^T W) / pivot, and a multiple of that row is subtracted
// from the correlation of the residual.
#include <algorithm>
#include <cmath>
#include <tuple>

#include <nanobind/stl/vector.h>

#include "casters.hpp"
#include "cholesky.hpp"
#include "gram_fit.hpp"
#include "linear_algebra.hpp"
#include "pursuit.hpp"
#include "threads.hpp"

namespace greedyexp::omp {
namespace {

// One task of a pursuit.
struct Task {
    const GramRows *gram;
    double floor;   // gains up to here are rounding errors
    double power;   // ||y||^2 / n
    double enough;  // loss at which the pursuit ends
    Index capacity;
    Matrix<double> rows;               // W
    Matrix<double> factor;             // L
    std::vector<double> half_inverse;  // 1 / (2 G_ii), zero for a column that can gain no more
    std::vector<double> residual;      // correlation of the residual
    std::vector<double> rotated;       // L^{-1} c_S
    std::vector<double> weights;       // W[:, i], the row of L for a staged feature i
    std::vector<double> solved;        // scratch
    std::vector<Index> support;
    Index size = 0;
    double smallest = 1.0;      // smallest squared sine of an added column
    std::vector<double> sines;  // squared sines of columns to the span, by differences, if refit

    Task(const GramRows *gram, std::vector<double> half_inverse, View<const double> correlation,
         double power, double enough, Index capacity, Matrix<double> rows, Matrix<double> factor)
        : gram(gram), floor(GAIN_FLOOR * power), power(power), enough(enough), capacity(capacity),
          rows(rows), factor(factor), half_inverse(std::move(half_inverse)),
          residual(correlation.begin(), correlation.end()), rotated(rows.rows()),
          weights(rows.rows()), solved(rows.rows()), support(rows.rows()),
          sines(correlation.size(), 1.0) {}

    // Call ``use`` with a function that returns the score of feature i, or zero if it has no gain.
    template <class Use>
    auto with_score(const PursuitOptions &options, Use use) const {
        const double *left = residual.data(), *inverse = half_inverse.data(), *sine = sines.data();
        const double least = floor;
        if (options.refit)
            // A sine below SPAN is a rounding error; staging will reject such a column.
            return use([=](Index i) {
                const double gain = left[i] * left[i] * inverse[i];
                return gain > least ? gain / std::max(sine[i], SPAN) : 0.0;
            });
        const bool normalize = options.normalize;
        return use([=](Index i) {
            const double power = left[i] * left[i], gain = power * inverse[i];
            const double score = normalize ? gain : power;
            return gain > least ? score : 0.0;
        });
    }

    // Whether feature i has a gain.
    bool gains(Index i) const { return residual[i] * residual[i] * half_inverse[i] > floor; }

    // Squared sine of the angle between column i and the span of the support, or zero when the
    // support is full. The new row of L is left in ``weights``.
    double stage(Index i) {
        if (size >= capacity) return 0.0;
        double within = 0.0;
        for (Index t = 0; t < size; ++t) {
            weights[t] = rows(t, i);
            within += weights[t] * weights[t];
        }
        return 1.0 - 2.0 * within * half_inverse[i];
    }

    // Add the staged feature to the support and update the residual.
    void take(Index i, double sine, View<const Index> in_order, const PursuitOptions &options) {
        View<double> row = rows[size];
        gram->copy_row(i, row);
        subtract_rows(row, weights, rows, in_order, size);
        const double pivot = std::sqrt(gram->diagonal()[i] * sine);
        const double step = residual[i] / pivot, inverse = 1.0 / pivot;
        for (Index k = 0; k < row.size(); ++k) {
            row[k] *= inverse;
            residual[k] -= step * row[k];
        }
        if (options.refit)
            for (Index k = 0; k < row.size(); ++k)
                sines[k] -= 2.0 * row[k] * row[k] * half_inverse[k];
        copy(View<const double>(weights).first(size), factor[size].first(size));
        factor(size, size) = pivot;
        rotated[size] = step;
        support[size] = i;
        ++size;
        half_inverse[i] = 0.0;
    }

    // The coefficients on the support, which solve L^T b = L^{-1} c_S.
    View<const double> solution() {
        cholesky::solve_transposed(factor, size, rotated, solved);
        return View<const double>(solved).first(size);
    }

    // ||y - X b||^2 / (2 n).
    double loss() const {
        double explained = 0.0;
        for (Index t = 0; t < size; ++t) explained += rotated[t] * rotated[t];
        return std::max(0.5 * (power - explained), 0.0);
    }
};

// A pursuit of the same features by several tasks, or by one.
class Pursuit {
  public:
    Pursuit(std::vector<Task> tasks, PursuitOptions options, Index features)
        : tasks_(std::move(tasks)), options_(options), features_(features),
          totals_(tasks_.size() > 1 ? features : 0) {
        for (Index t = 0; t < tasks_[0].rows.rows(); ++t) in_order_.push_back(t);
    }

    std::vector<Task> &tasks() { return tasks_; }

    bool fits_well() const {
        return std::all_of(tasks_.begin(), tasks_.end(),
                           [](const Task &task) { return task.loss() <= task.enough; });
    }

    // The feature with the largest sum of scores over the tasks, or -1 if no feature gains.
    Index best_feature() {
        const auto [best, top] = tasks_.size() == 1 ? best_of_one() : best_of_several();
        return top > 0.0 ? best : -1;
    }

    // Add feature i to the supports, or bar its entries in the span; return the number barred.
    // Nothing is added when an entry with a gain is barred: the feature must compete again.
    Index add_feature(Index i) {
        Index barred = 0;
        std::vector<double> sines(tasks_.size());
        for (std::size_t j = 0; j < tasks_.size(); ++j) {
            Task &task = tasks_[j];
            if (task.half_inverse[i] == 0.0) continue;
            sines[j] = task.stage(i);
            if (sines[j] <= SPAN) {
                sines[j] = 0.0;
                barred += task.gains(i);
                task.half_inverse[i] = 0.0;
            }
        }
        if (barred == 0)
            for (std::size_t j = 0; j < tasks_.size(); ++j)
                if (sines[j] > 0.0) {
                    tasks_[j].take(i, sines[j], in_order_, options_);
                    tasks_[j].smallest = std::min(tasks_[j].smallest, sines[j]);
                }
        return barred;
    }

  private:
    // The scores of a single task are not stored: computing them twice is faster.
    std::pair<Index, double> best_of_one() const {
        return tasks_[0].with_score(options_,
                                    [&](auto score) { return first_largest(features_, score); });
    }

    std::pair<Index, double> best_of_several() {
        const View<double> totals = totals_;
        fill(totals, 0.0);
        for (const Task &task : tasks_)
            task.with_score(options_, [=](auto score) {
                double *__restrict to = totals.data();
                for (Index i = 0; i < totals.size(); ++i) to[i] += score(i);
            });
        return first_largest(totals);
    }

    std::vector<Task> tasks_;
    PursuitOptions options_;
    Index features_;
    Own<double> totals_;           // scores added up over several tasks
    std::vector<Index> in_order_;  // 0, 1, ...
};

void pursuits(PursuitFits &fits, Index start, const std::vector<GramRows *> &gram,
              Matrix<const double> correlation, View<const double> power, View<const double> enough,
              View<const Index> capacity, bool together, bool normalize, bool refit,
              View<const Index> counts, Index jobs) {
    const Index r = correlation.rows(), p = correlation.columns();
    const Index width = together ? r : 1;
    const Index most = *std::max_element(capacity.begin(), capacity.end());
    std::vector<std::vector<double>> half_inverses;
    for (const GramRows *one : gram) half_inverses.push_back(half_inverse_of(one->diagonal()));
    on_threads(r / width, jobs, [&](Interrupts &interrupts) {
        // Memory of a thread: allocation for every task would cost as much as the arithmetic.
        auto rows = std::make_shared<OwnCube<double>>(width, most, p);
        auto factors = std::make_shared<OwnCube<double>>(width, most, most);
        return [&, rows, factors](Index unit) {
            const Index first = unit * width;
            std::vector<Task> tasks;
            for (Index j = 0; j < width; ++j) {
                const Index design = (first + j) % static_cast<Index>(gram.size());
                tasks.emplace_back(gram[design], half_inverses[design], correlation[first + j],
                                   power[first + j], enough[first + j], capacity[first + j],
                                   (*rows)[j], (*factors)[j]);
            }
            Pursuit pursuit(std::move(tasks), {normalize, refit}, p);
            PursuitSummary found;
            found.follow(pursuit, counts, interrupts, [&](Index k) {
                for (Index j = 0; j < width; ++j) {
                    Task &task = pursuit.tasks()[j];
                    fits.write(
                        k, start + first + j, View<const Index>(task.support).first(task.size),
                        [&] { return task.solution(); }, task.loss());
                }
            });
            for (Index j = 0; j < width; ++j)
                fits.note_sine(start + first + j, pursuit.tasks()[j].smallest);
            fits.add(found);
        };
    });
}

void pursuits_of_matrices(PursuitFits &fits, Index start, Cube<const double> gram,
                          Matrix<const double> correlation, View<const double> power,
                          View<const double> enough, View<const Index> capacity, bool together,
                          bool normalize, bool refit, View<const Index> counts, Index jobs) {
    std::vector<GramRows> matrices;
    for (Index k = 0; k < gram.depth(); ++k) matrices.emplace_back(gram[k]);
    std::vector<GramRows *> all;
    for (GramRows &one : matrices) all.push_back(&one);
    pursuits(fits, start, all, correlation, power, enough, capacity, together, normalize, refit,
             counts, jobs);
}

}  // namespace

void bind(nb::module_ &module) {
    nb::class_<PursuitFits>(module, "Fits")
        .def(nb::init<Index, Index, bool>())
        .def("result", &PursuitFits::result);
    module.def("pursuits", &pursuits_of_matrices);
    module.def("pursuits", &pursuits);
}

}  // namespace greedyexp::omp
