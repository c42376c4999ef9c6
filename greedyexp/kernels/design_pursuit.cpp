// Orthogonal matching pursuit without a Gram matrix; the contract is in design_pursuit.py.
//
// The support has an orthonormal basis Q with X_S = Q R. A new column is made orthogonal to Q,
// twice where needed, and its part is subtracted from the residual, so each step needs one pass
// over the design: X^T residual. That pass reads the rounded columns, and only the columns whose
// score may be the largest are scored in double precision.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include <nanobind/stl/vector.h>

#include "casters.hpp"
#include "cholesky.hpp"
#include "gram_fit.hpp"
#include "linear_algebra.hpp"
#include "pursuit.hpp"
#include "rounded_columns.hpp"
#include "threads.hpp"

namespace greedyexp::design_pursuit {
namespace {

struct Response {
    std::vector<double> residual;
    std::vector<double> rotated;  // Q^T y
    double floor;                 // gains up to here are rounding errors
    double enough;                // loss at which the pursuit ends
};

// The responses of one design that take the same features.
class Block {
  public:
    Block(RoundedColumns &design, Index capacity)
        : design_(design), capacity_(capacity), basis_(capacity, design.rows()),
          factor_(capacity, capacity), half_inverse_(design.columns(), 0.0),
          bounds_(RoundedColumns::AT_ONCE, design.columns()), staged_(design.rows()),
          cross_(capacity), again_(capacity), within_(design.columns(), 0.0),
          inside_(design.columns(), 0.0), projected_(design.columns(), 0) {
        for (Index i = 0; i < design.columns(); ++i) {
            const double square = design.square(i) / samples();
            if (square > NO_COLUMN) half_inverse_[i] = 0.5 / square;
        }
        for (Index t = 0; t < capacity; ++t) in_order_.push_back(t);
    }

    void add_response(View<const double> y, double power, double enough) {
        responses_.push_back(
            {{y.begin(), y.end()}, std::vector<double>(capacity_), GAIN_FLOOR * power, enough});
    }

    bool fits_well() const {
        return std::all_of(responses_.begin(), responses_.end(), [this](const Response &response) {
            return loss_of(response) <= response.enough;
        });
    }

    // Add upper bounds of the scores of all features.
    void add_bounds(const PursuitOptions &options, View<double> scores) {
        std::vector<View<const double>> vectors;
        // The last vector of Q shares a pass over the design with the residuals.
        const bool fresh = options.refit && bounded_ < size_;
        if (fresh) vectors.push_back(basis_[bounded_++]);
        for (const Response &response : responses_) vectors.push_back(response.residual);
        for (auto next = vectors.begin(); next != vectors.end();) {
            const auto end =
                next + std::min<std::ptrdiff_t>(RoundedColumns::AT_ONCE, vectors.end() - next);
            design_.bound({next, end}, bounds_);
            for (Index row = 0; next != end; ++next, ++row) {
                const Index j = next - vectors.begin() - fresh;
                if (j < 0)
                    for (Index i = 0; i < scores.size(); ++i)
                        within_[i] += bounds_(row, i) * bounds_(row, i);
                else
                    add_scores(bounds_[row], responses_[j].floor, options, scores);
            }
        }
    }

    // The score of one feature.
    double score(Index i, const PursuitOptions &options) {
        if (half_inverse_[i] == 0.0) return 0.0;
        double total = 0.0;
        for (const Response &response : responses_) {
            const double correlation = correlation_of(i, response);
            const double power = correlation * correlation, gain = power * half_inverse_[i];
            if (gain > response.floor) total += options.normalize ? gain : power;
        }
        return options.refit && total > 0.0 ? total / std::max(sine_of(i), SPAN) : total;
    }

    // The number of responses for which feature i has a gain.
    Index gaining(Index i) {
        Index count = 0;
        for (const Response &response : responses_) {
            const double correlation = correlation_of(i, response);
            count += correlation * correlation * half_inverse_[i] > response.floor;
        }
        return count;
    }

    bool open(Index i) const { return half_inverse_[i] > 0.0; }
    void bar(Index i) { half_inverse_[i] = 0.0; }

    // Squared sine of the angle between column i and the span of the support, or zero when the
    // support is full. The part of the column outside the span is left in ``staged_``.
    double stage(Index i) {
        if (size_ >= capacity_) return 0.0;
        copy(design_.column(i), View<double>(staged_));
        double before = design_.square(i), after = before;
        fill(View<double>(cross_), 0.0);
        for (int round = 0; round < 2; ++round) {
            for (Index t = 0; t < size_; ++t) again_[t] = dot(basis_[t], staged_);
            subtract_rows(staged_, again_, basis_, in_order_, size_);
            for (Index t = 0; t < size_; ++t) cross_[t] += again_[t];
            after = dot(staged_, staged_);
            // Half of the column is left, so the basis stays orthogonal without a second round.
            if (after > 0.5 * before) break;
            before = after;
        }
        return after / design_.square(i);
    }

    // Add the staged feature to the support and update the residuals.
    void take(Index i) {
        const double pivot = std::sqrt(dot(staged_, staged_));
        View<double> added = basis_[size_];
        for (Index k = 0; k < added.size(); ++k) added[k] = staged_[k] / pivot;
        for (Index t = 0; t < size_; ++t) factor_(size_, t) = cross_[t];
        factor_(size_, size_) = pivot;
        for (Response &response : responses_) {
            const double step = dot(added, response.residual);
            axpy(-step, added, response.residual);
            response.rotated[size_] = step;
        }
        support_.push_back(i);
        ++size_;
        half_inverse_[i] = 0.0;
    }

    // Write the fit of response j after counts[k] features as that of a task.
    void write(PursuitFits &fits, Index k, Index task, Index j) {
        const Response &response = responses_[j];
        const auto solution = [&] {
            const View<double> solved = View<double>(again_).first(size_);
            cholesky::solve_transposed(factor_, size_, response.rotated, solved);
            return View<const double>(solved);
        };
        fits.write(k, task, support_, solution, loss_of(response));
    }

  private:
    double samples() const { return static_cast<double>(design_.rows()); }

    double loss_of(const Response &response) const {
        return 0.5 * dot(response.residual, response.residual) / samples();
    }

    // Add the scores of one response whose correlations have these bounds.
    void add_scores(View<double> bounds, double floor, const PursuitOptions &options,
                    View<double> scores) const {
        const double inverse = 1.0 / samples();
        double *__restrict bound = bounds.data();
        double *__restrict to = scores.data();
        for (Index i = 0; i < scores.size(); ++i) {
            const double correlation = bound[i] * inverse;
            const double power = correlation * correlation, gain = power * half_inverse_[i];
            const double score = options.normalize ? gain : power;
            bound[i] = gain > floor ? score : 0.0;
        }
        // The sum of squares in ``within_`` has a rounding error.
        if (options.refit)
            for (Index i = 0; i < scores.size(); ++i) {
                const double cosine = 2.0 * half_inverse_[i] * within_[i] * inverse;
                bound[i] /= std::max(1.0 - cosine - 1e-12, SPAN);
            }
        for (Index i = 0; i < scores.size(); ++i) to[i] += bound[i];
    }

    double correlation_of(Index i, const Response &response) {
        return dot(design_.column(i), response.residual) / samples();
    }

    // Squared sine of the angle between column i and the span of the support.
    double sine_of(Index i) {
        for (; projected_[i] < size_; ++projected_[i]) {
            const double cosine = dot(design_.column(i), basis_[projected_[i]]);
            inside_[i] += cosine * cosine;
        }
        within_[i] = inside_[i];
        return 1.0 - inside_[i] / design_.square(i);
    }

    RoundedColumns &design_;
    Index capacity_;
    OwnMatrix<double> basis_;           // rows are the vectors of Q
    OwnMatrix<double> factor_;          // R^T
    std::vector<double> half_inverse_;  // 1 / (2 G_ii), zero for a column that can gain no more
    OwnMatrix<double> bounds_;          // scratch
    std::vector<double> staged_;
    std::vector<double> cross_;   // Q^T x of the staged column
    std::vector<double> again_;   // scratch
    std::vector<double> within_;  // upper bounds of ||Q^T x_i||^2 over the first ``bounded_``
    Index bounded_ = 0;           // vectors of Q, if refit
    std::vector<double> inside_;  // ||Q^T x_i||^2 over the first ``projected_`` vectors of Q
    std::vector<Index> projected_;
    std::vector<Index> in_order_;
    std::vector<Index> support_;
    Index size_ = 0;
    std::vector<Response> responses_;
};

// A pursuit of the same features by one or several blocks.
class Pursuit {
  public:
    Pursuit(std::vector<Block> blocks, PursuitOptions options, Index features)
        : blocks_(std::move(blocks)), options_(options), bounds_(features), scores_(features) {}

    std::vector<Block> &blocks() { return blocks_; }

    bool fits_well() const {
        return std::all_of(blocks_.begin(), blocks_.end(),
                           [](const Block &block) { return block.fits_well(); });
    }

    // The feature with the largest sum of scores, or -1 if no feature gains.
    Index best_feature() {
        fill(View<double>(bounds_), 0.0);
        for (Block &block : blocks_) block.add_bounds(options_, bounds_);
        scored_.clear();
        double top = score(first_largest(bounds_).first);
        for (Index i = 0; i < static_cast<Index>(bounds_.size()); ++i)
            if (bounds_[i] > 0.0 && bounds_[i] >= top * (1.0 - 2.0 * TIE)) {
                scored_.push_back(i);
                scores_[i] = score(i);
                top = std::max(top, scores_[i]);
            }
        if (top > 0.0)
            for (const Index i : scored_)
                if (scores_[i] >= top * (1.0 - TIE)) return i;
        return -1;
    }

    // Add feature i to the supports, or bar its entries in the span; return the number barred.
    // Nothing is added when an entry with a gain is barred: the feature must compete again.
    Index add_feature(Index i) {
        Index barred = 0;
        std::vector<double> sines(blocks_.size());
        for (std::size_t b = 0; b < blocks_.size(); ++b) {
            Block &block = blocks_[b];
            if (!block.open(i)) continue;
            sines[b] = block.stage(i);
            if (sines[b] <= SPAN) {
                sines[b] = 0.0;
                barred += block.gaining(i);
                block.bar(i);
            }
        }
        if (barred == 0)
            for (std::size_t b = 0; b < blocks_.size(); ++b)
                if (sines[b] > 0.0) blocks_[b].take(i);
        return barred;
    }

  private:
    double score(Index i) {
        double total = 0.0;
        for (Block &block : blocks_) total += block.score(i, options_);
        return total;
    }

    std::vector<Block> blocks_;
    PursuitOptions options_;
    std::vector<double> bounds_;
    std::vector<double> scores_;
    std::vector<Index> scored_;
};

using Array = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Line = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void pursuits(PursuitFits &fits, const std::vector<Array> &designs,
              const std::vector<Line> &responses, View<const double> power,
              View<const double> enough, View<const Index> capacity, bool together, bool normalize,
              bool refit, View<const Index> counts, Index jobs) {
    const auto r = static_cast<Index>(responses.size());
    const auto p = static_cast<Index>(designs[0].shape(1));
    const bool shared = designs.size() == 1;
    const Index width = together ? r : 1;
    // Arrays are counted references of Python, which threads must not copy.
    std::vector<Matrix<const double>> matrices;
    for (const Array &X : designs)
        matrices.emplace_back(X.data(), static_cast<Index>(X.shape(0)), p);
    std::vector<View<const double>> lines;
    for (const Line &y : responses) lines.emplace_back(y.data(), static_cast<Index>(y.shape(0)));
    std::vector<RoundedColumns> common;
    if (shared || together)
        for (const Matrix<const double> X : matrices) common.emplace_back(X);
    // Tasks that share a design share its copies of columns, too.
    on_threads(r / width, shared ? 1 : jobs, [&](Interrupts &interrupts) {
        return [&](Index unit) {
            const Index first = unit * width;
            std::vector<RoundedColumns> own;
            if (!shared && !together) own.emplace_back(matrices[first]);
            std::vector<RoundedColumns> &columns = own.empty() ? common : own;
            std::vector<Block> blocks;
            for (Index j = 0; j < width; ++j) {
                if (j == 0 || !shared)
                    blocks.emplace_back(columns[shared ? 0 : j], capacity[first + j]);
                blocks.back().add_response(lines[first + j], power[first + j], enough[first + j]);
            }
            Pursuit pursuit(std::move(blocks), {normalize, refit}, p);
            PursuitSummary found;
            found.follow(pursuit, counts, interrupts, [&](Index k) {
                for (Index j = 0; j < width; ++j)
                    pursuit.blocks()[shared ? 0 : j].write(fits, k, first + j, shared ? j : 0);
            });
            fits.add(found);
        };
    });
}

}  // namespace

void bind(nb::module_ &module) { module.def("pursuits", &pursuits); }

}  // namespace greedyexp::design_pursuit
