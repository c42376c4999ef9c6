// Orthogonal matching pursuit; the contract is in omp.py.
//
// Features are never removed, so the rows of W = L^{-1} G_S are kept for all features, where L is
// the Cholesky factor of G_SS. A new feature i then costs one pass over them: L gains the row
// W[:, i], W gains the row (G_i - W[:, i]^T W) / pivot, and a multiple of that row is subtracted
// from the correlation of the residual.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "casters.hpp"
#include "cholesky.hpp"
#include "gram_fit.hpp"
#include "linear_algebra.hpp"
#include "pursuit.hpp"

namespace greedyexp::omp {
namespace {

// One task of a pursuit.
struct Task {
    Matrix<const double> gram;
    double floor;  // gains up to here are rounding errors
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
    std::vector<double> sines;  // squared sines of columns to the span, by differences, if refit
    std::vector<double> gains;

    Task(Matrix<const double> gram, View<const double> correlation, double power, Index capacity,
         Matrix<double> rows, Matrix<double> factor)
        : gram(gram), floor(GAIN_FLOOR * power), capacity(capacity), rows(rows), factor(factor),
          half_inverse(half_inverse_of(diagonal_of(gram))),
          residual(correlation.begin(), correlation.end()), rotated(rows.rows()),
          weights(rows.rows()), solved(rows.rows()), support(rows.rows()),
          sines(correlation.size(), 1.0), gains(correlation.size()) {}

    void score(const PursuitOptions &options) {
        for (std::size_t i = 0; i < gains.size(); ++i) {
            const double gain = residual[i] * residual[i] * half_inverse[i];
            gains[i] = gain > floor ? gain : 0.0;
        }
        // A sine below SPAN is a rounding error; staging will reject such a column.
        if (options.refit)
            for (std::size_t i = 0; i < gains.size(); ++i) gains[i] /= std::max(sines[i], SPAN);
    }

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
        copy(gram[i], row);
        subtract_rows(row, weights, rows, in_order, size);
        const double pivot = std::sqrt(gram(i, i) * sine);
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

    // The response power that the fit explains.
    double explained() const {
        double total = 0.0;
        for (Index t = 0; t < size; ++t) total += rotated[t] * rotated[t];
        return total;
    }
};

// A pursuit of the same features by several tasks, or by one.
class Pursuit {
  public:
    Pursuit(std::vector<Task> tasks, PursuitOptions options, Index features)
        : tasks_(std::move(tasks)), options_(options), scores_(features) {
        for (Index t = 0; t < tasks_[0].rows.rows(); ++t) in_order_.push_back(t);
    }

    std::vector<Task> &tasks() { return tasks_; }
    double smallest() const { return smallest_; }

    // The feature with the largest sum of scores over the tasks, or -1 if no feature gains.
    Index best_feature() {
        std::fill(scores_.begin(), scores_.end(), 0.0);
        for (Task &task : tasks_) {
            task.score(options_);
            for (std::size_t i = 0; i < scores_.size(); ++i) {
                if (options_.normalize)
                    scores_[i] += task.gains[i];
                else if (task.gains[i] > 0.0)
                    scores_[i] += task.residual[i] * task.residual[i];
            }
        }
        const auto [best, top] = first_largest(scores_);
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
                task.half_inverse[i] = 0.0;
                barred += task.gains[i] > 0.0;
            }
        }
        if (barred == 0)
            for (std::size_t j = 0; j < tasks_.size(); ++j)
                if (sines[j] > 0.0) {
                    tasks_[j].take(i, sines[j], in_order_, options_);
                    smallest_ = std::min(smallest_, sines[j]);
                }
        return barred;
    }

  private:
    std::vector<Task> tasks_;
    PursuitOptions options_;
    std::vector<double> scores_;
    std::vector<Index> in_order_;  // 0, 1, ...
    double smallest_ = 1.0;        // smallest squared sine of an added column
};

std::tuple<Index, Index, double> pursuits(Cube<const double> gram, Matrix<const double> correlation,
                                          View<const double> power, View<const Index> capacity,
                                          bool together, bool normalize, bool refit,
                                          View<const Index> counts, Cube<double> coef,
                                          View<double> loss, View<Index> sizes) {
    const Index r = correlation.rows(), p = correlation.columns();
    const Index width = together ? r : 1;
    const Index most = *std::max_element(capacity.begin(), capacity.end());
    const PursuitFits fits{coef, loss, sizes};
    PursuitSummary summary;
    // Memory allocated once: allocation for every task would cost as much as the arithmetic.
    OwnCube<double> rows(width, most, p), factors(width, most, most);
    for (Index first = 0; first < r; first += width) {
        std::vector<Task> tasks;
        for (Index j = 0; j < width; ++j)
            tasks.emplace_back(gram[(first + j) % gram.depth()], correlation[first + j],
                               power[first + j], capacity[first + j], rows[j], factors[j]);
        Pursuit pursuit(std::move(tasks), {normalize, refit}, p);
        summary.follow(pursuit, counts, [&](Index k) {
            for (Index j = 0; j < width; ++j) {
                Task &task = pursuit.tasks()[j];
                const double left = std::max(0.5 * (power[first + j] - task.explained()), 0.0);
                fits.write(k, first + j, task.support, task.solution(), left);
            }
        });
    }
    return summary.as_tuple();
}

}  // namespace

void bind(nb::module_ &module) { module.def("pursuits", &pursuits); }

}  // namespace greedyexp::omp
