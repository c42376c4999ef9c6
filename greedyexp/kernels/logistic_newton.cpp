// Newton's method for the mean logistic loss; the contract is in logistic_newton.py.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "casters.hpp"
#include "cholesky.hpp"
#include "linear_algebra.hpp"
#include "logistic_lines.hpp"
#include "weighted_gram.hpp"

namespace greedyexp::logistic_newton {
namespace {

enum Status { CONVERGED, SEPARATED, DOUBTFUL, STALLED };

constexpr int MOST_STEPS = 200;
constexpr int MOST_HALVINGS = 60;
// Steps after which an unproved existence of a minimum counts as doubtful.
constexpr int PATIENCE = 15;
// A column with a smaller squared sine to the span of the others, in the metric of the Hessian,
// does not move; its gradient vanishes with theirs.
constexpr double SPAN = 1e-13;
// A step must achieve this part of the decrease predicted by the slope.
constexpr double ARMIJO = 1e-4;
// Decreases below this part of the loss are rounding errors and are not compared.
constexpr double VALUE_ROUNDING = 1e-11;
// Second derivatives are kept after a step that makes the largest derivative smaller than this
// part.
constexpr double FRESH = 0.02;

class Search {
  public:
    Search(Matrix<const double> rows, View<const double> penalty, View<const double> tolerance,
           View<double> coef, View<double> margins, View<double> weights)
        : rows_(rows), penalty_(penalty), tolerance_(tolerance), coef_(coef), margins_(margins),
          weights_(weights), n_(static_cast<double>(margins.size())), gradient_(coef.size()),
          step_(coef.size()), moves_(margins.size()) {}

    std::tuple<int, double, bool> run(bool known, bool patient) {
        multiply_transposed(rows_, coef_, margins_);
        double value = evaluate();
        double worst_before = std::numeric_limits<double>::infinity();
        for (int count = 0; count < MOST_STEPS; ++count) {
            handle_signals();
            const double worst = compute_gradient();
            if (worst <= 1.0 && known) return {CONVERGED, value, known};
            if (!known && separates()) return {SEPARATED, value, known};
            // Close to the minimum the last second derivatives are good enough.
            if (!(known && worst <= FRESH * worst_of_step_)) factor_hessian();
            worst_of_step_ = worst;
            compute_step();
            multiply_transposed(rows_, step_, moves_);
            known = known || (dependent_ == 0 && proves());
            if (worst <= 1.0 && known) return {CONVERGED, value, known};
            if (!(known || patient) && (worst <= 1.0 || count >= PATIENCE))
                return {DOUBTFUL, value, known};
            const double slope = dot(gradient_, step_);
            const bool small = -slope <= VALUE_ROUNDING * std::abs(value);
            if (small && worst >= worst_before) return {STALLED, value, known};
            worst_before = small ? worst : std::numeric_limits<double>::infinity();
            value = advance(slope, value, small);
            if (std::isnan(value)) return {STALLED, evaluate(), known};
        }
        return {STALLED, value, known};
    }

  private:
    // The loss at the present margins; the weights are computed with it.
    double evaluate() {
        double total = logistic_lines::losses(margins_, weights_);
        for (Index t = 0; t < coef_.size(); ++t) total += 0.5 * penalty_[t] * coef_[t] * coef_[t];
        return total;
    }

    // Return the largest derivative in units of its tolerance.
    double compute_gradient() {
        double worst = 0.0;
        for (Index t = 0; t < coef_.size(); ++t) {
            gradient_[t] = penalty_[t] * coef_[t] - dot(rows_[t], weights_) / n_;
            worst = std::max(worst, std::abs(gradient_[t]) / tolerance_[t]);
        }
        return worst;
    }

    // True if every margin is positive by more than the rounding error of the largest.
    bool separates() const {
        const auto [least, most] = std::minmax_element(margins_.begin(), margins_.end());
        return *least > 1e-12 * *most;
    }

    // True if the moves of the margins by a Newton step prove that a minimum exists.
    //
    // With the weights s_i = 1 / (1 + exp(m_i)), the vector s_i (1 - (1 - s_i) move_i) is
    // orthogonal to all columns. If it is positive, every combination of columns that is not zero
    // has a negative entry (Stiemke's lemma), and then a minimum exists.
    bool proves() const {
        double most = 0.0;
        for (Index i = 0; i < margins_.size(); ++i)
            most = std::max(most, (1.0 - weights_[i]) * moves_[i]);
        return most < 0.5;
    }

    // Factor H on the independent columns.
    void factor_hessian() {
        const Index k = rows_.rows(), n = rows_.columns();
        const Own<double> curvature(n), cross(k);
        const OwnMatrix<double> hessian(k, k);
        factor_ = OwnMatrix<double>(k + 1, k + 1);
        kept_.clear();
        dependent_ = 0;
        for (Index i = 0; i < n; ++i) curvature[i] = weights_[i] * (1.0 - weights_[i]) / n_;
        std::vector<View<const double>> rows;
        for (Index t = 0; t < k; ++t) rows.push_back(rows_[t]);
        weighted_gram(rows, curvature, hessian);
        for (Index t = 0; t < k; ++t) {
            const double diagonal = hessian(t, t) + penalty_[t];
            if (!(diagonal > 0.0)) continue;
            const Index size = static_cast<Index>(kept_.size());
            for (Index s = 0; s < size; ++s) cross[s] = hessian(t, kept_[s]);
            if (cholesky::append(factor_, size, cross, diagonal) > SPAN)
                kept_.push_back(t);
            else
                ++dependent_;
        }
    }

    // step <- -H^{-1} gradient on the independent columns.
    void compute_step() {
        const Index size = static_cast<Index>(kept_.size());
        const Own<double> solution(size);
        for (Index s = 0; s < size; ++s) solution[s] = -gradient_[kept_[s]];
        cholesky::solve(factor_, size, solution);
        cholesky::solve_transposed(factor_, size, solution, solution);
        fill<double>(step_, 0.0);
        for (Index s = 0; s < size; ++s) step_[kept_[s]] = solution[s];
    }

    // Halve the step until the loss falls enough; return the new value, or nan if it never does. If
    // the predicted decrease is ``small``, any new value is accepted.
    double advance(double slope, double value, bool small) {
        double length = 1.0;
        for (int halving = 0; halving < MOST_HALVINGS; ++halving) {
            axpy(length, step_, coef_);
            axpy(length, moves_, margins_);
            const double found = evaluate();
            if (small || found <= value + ARMIJO * length * slope) return found;
            axpy(-length, step_, coef_);
            axpy(-length, moves_, margins_);
            length *= 0.5;
        }
        return std::numeric_limits<double>::quiet_NaN();
    }

    Matrix<const double> rows_;  // (k, n): signed columns
    View<const double> penalty_, tolerance_;
    View<double> coef_, margins_, weights_;
    double n_;
    std::vector<double> gradient_, step_;  // (k,)
    std::vector<double> moves_;            // (n,): of the margins, by a full step
    OwnMatrix<double> factor_;             // of H on the columns ``kept_``
    std::vector<Index> kept_;
    Index dependent_ = 0;         // number of the other columns
    double worst_of_step_ = 0.0;  // the largest derivative before the last step
};

std::tuple<int, double, bool> minimise(Matrix<const double> rows, View<const double> penalty,
                                       View<const double> tolerance, View<double> coef,
                                       View<double> margins, View<double> weights, bool known,
                                       bool patient) {
    return Search(rows, penalty, tolerance, coef, margins, weights).run(known, patient);
}

}  // namespace

void bind(nb::module_ &module) {
    module.attr("CONVERGED") = static_cast<int>(CONVERGED);
    module.attr("SEPARATED") = static_cast<int>(SEPARATED);
    module.attr("DOUBTFUL") = static_cast<int>(DOUBTFUL);
    module.attr("STALLED") = static_cast<int>(STALLED);
    module.def("minimise", &minimise);
}

}  // namespace greedyexp::logistic_newton
