// Newton's method for a mean of sample losses with an l1 norm; the contract is in newton_path.py.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "casters.hpp"
#include "cholesky.hpp"
#include "linear_algebra.hpp"
#include "logistic_columns.hpp"
#include "logistic_lines.hpp"

namespace greedyexp::newton_path {
namespace {

using logistic_columns::Columns;

// At most this number of coefficients with zero value moves in a step, or as many as are not zero.
constexpr Index FEW = 100;
// Sweeps of coordinate descent over the model before steps to the minimiser with fixed signs, and
// the largest number of such rounds.
constexpr int SWEEPS = 50, ROUNDS = 20;
// The model is solved to this part of the violation, or better when the violation is small.
constexpr double ACCURACY = 1e-3;
// Second derivatives are kept after a step that makes the violation smaller than this part.
constexpr double FRESH = 0.02;
// A step must achieve this part of the decrease predicted by the slope.
constexpr double ARMIJO = 1e-4;
// If the expected decrease is smaller than this part of the objective, slopes decide: the decrease
// may be below rounding error.
constexpr double CLOSE = 1e-8, FLAT = 0.8;
constexpr double SHORTEST = 1e-10;

// The mean loss at predictions a of responses y, with slopes and curvatures by the predictions.
using Evaluate = double (*)(View<const double> a, View<const double> y, View<double> slope,
                            View<double> curvature);

// log(1 + exp(-a)); the labels are part of the columns.
double logistic(View<const double> a, View<const double>, View<double> slope,
                View<double> curvature) {
    const double value = logistic_lines::losses(a, slope);
    for (Index i = 0; i < a.size(); ++i) {
        curvature[i] = slope[i] * (1.0 - slope[i]);
        slope[i] = -slope[i];
    }
    return value;
}

double shrunk(double target, double price) {
    return std::copysign(std::max(std::abs(target) - price, 0.0), target);
}

// A quadratic of the coefficients u with prices for their absolute values.
class Model {
  public:
    Model(Matrix<const double> hessian, View<const double> price, View<double> slope,
          View<double> u)
        : hessian_(hessian), price_(price), slope_(slope), u_(u) {}

    // Minimise it: coordinate descent finds the signs; if it is slow, steps to the minimiser with
    // these signs, or to the first change of a sign, follow.
    void minimise(double accuracy) {
        for (int round = 0; round < ROUNDS; ++round) {
            handle_signals();
            for (int sweep = 0; sweep < SWEEPS; ++sweep)
                if (descend() <= accuracy) return;
            while (step_to_sign_change()) {
            }
        }
    }

  private:
    // A sweep; return the largest change of a slope.
    double descend() {
        double largest = 0.0;
        for (Index j = 0; j < u_.size(); ++j) {
            const double own = hessian_(j, j);
            if (!(own > 0.0)) continue;
            const double value = shrunk(own * u_[j] - slope_[j], price_[j]) / own;
            const double step = value - u_[j];
            if (step == 0.0) continue;
            u_[j] = value;
            axpy(step, hessian_[j], slope_);
            largest = std::max(largest, std::abs(step) * own);
        }
        return largest;
    }

    // Return whether a coefficient has become zero.
    bool step_to_sign_change() {
        std::vector<Index> held;
        for (Index j = 0; j < u_.size(); ++j)
            if (u_[j] != 0.0 || price_[j] == 0.0) held.push_back(j);
        const Index size = static_cast<Index>(held.size());
        const OwnMatrix<double> chol(size + 1, size + 1);
        const Own<double> cross(size), step(size);
        for (Index t = 0; t < size; ++t) {
            for (Index s = 0; s < t; ++s) cross[s] = hessian_(held[t], held[s]);
            if (cholesky::append(chol, t, cross, hessian_(held[t], held[t])) == 0.0) return false;
        }
        for (Index t = 0; t < size; ++t) {
            const Index j = held[t];
            step[t] = -(slope_[j] + (price_[j] > 0.0 ? std::copysign(price_[j], u_[j]) : 0.0));
        }
        cholesky::solve(chol, size, step);
        cholesky::solve_transposed(chol, size, step, step);
        double length = 1.0;
        Index blocking = -1;
        for (Index t = 0; t < size; ++t) {
            const Index j = held[t];
            if (price_[j] == 0.0 || step[t] * u_[j] >= 0.0) continue;
            const double way = -u_[j] / step[t];
            if (way < length) {
                length = way;
                blocking = j;
            }
        }
        for (Index t = 0; t < size; ++t) {
            u_[held[t]] += length * step[t];
            axpy(length * step[t], hessian_[held[t]], slope_);
        }
        if (blocking >= 0) u_[blocking] = 0.0;
        return blocking >= 0;
    }

    Matrix<const double> hessian_;
    View<const double> price_;
    View<double> slope_, u_;
};

class NewtonPath {
  public:
    NewtonPath(Columns &columns, Matrix<const double> dense, View<const double> responses,
               double ridge, View<const double> start)
        : columns_(columns), dense_(dense), responses_(responses), evaluate_(logistic),
          ridge_(ridge), p_(columns.count()), coef_(start.begin(), start.end()),
          gradient_(start.size()), predictions_(responses.size()), slope_(responses.size()),
          curvature_(responses.size()), moves_(responses.size()), trial_(responses.size()),
          is_working_(columns.count(), 0) {
        predict();
        compute_gradient(all());
        for (Index j = 0; j < p_; ++j) before_ = std::max(before_, std::abs(gradient_[j]));
    }

    bool follow(double lam, double tolerance, Index max_steps) {
        lam_ = lam;
        fill<char>(is_working_, 0);
        working_.clear();
        // The strong rule: gradients are likely to change by less than lam does.
        for (Index j = 0; j < p_; ++j)
            if (coef_[j] != 0.0 || std::abs(gradient_[j]) >= 2.0 * lam - before_) join(j);
        predict();
        objective_ = value_ + lam_ * norm();
        compute_gradient(working_with_dense());
        for (Index steps = 0;;) {
            double inside = violation(working_with_dense());
            bool moved = true;
            while (inside > tolerance && steps < max_steps && moved) {
                handle_signals();
                ++steps;
                moved = step(inside, tolerance);
                if (moved) compute_gradient(working_with_dense());
                inside = violation(working_with_dense());
            }
            const std::vector<Index> others = outside();
            compute_gradient(others);
            violation_ = std::max(inside, violation(others));
            // A violation that is not a number ends the search.
            if (!(violation_ > tolerance) || steps >= max_steps) break;
            const Index before = static_cast<Index>(working_.size());
            for (const Index j : others)
                if (std::abs(gradient_[j]) > lam_) join(j);
            if (!moved && static_cast<Index>(working_.size()) == before) break;
        }
        before_ = lam_;
        return violation_ <= tolerance;
    }

    std::vector<double> &coef() { return coef_; }
    double objective() const { return objective_; }
    double violation() const { return violation_; }
    Index evaluations() const { return evaluations_; }

  private:
    bool is_dense(Index j) const { return j >= p_; }

    std::vector<Index> all() const {
        std::vector<Index> indices(coef_.size());
        std::iota(indices.begin(), indices.end(), 0);
        return indices;
    }

    std::vector<Index> outside() const {
        std::vector<Index> indices;
        for (Index j = 0; j < p_; ++j)
            if (!is_working_[j]) indices.push_back(j);
        return indices;
    }

    std::vector<Index> working_with_dense() const {
        std::vector<Index> indices(working_);
        for (Index j = p_; j < static_cast<Index>(coef_.size()); ++j) indices.push_back(j);
        return indices;
    }

    void join(Index j) {
        is_working_[j] = 1;
        working_.push_back(j);
    }

    double norm() const {
        double total = 0.0;
        for (Index j = 0; j < p_; ++j) total += std::abs(coef_[j]);
        return total;
    }

    double power() const {
        double total = 0.0;
        for (Index j = 0; j < p_; ++j) total += coef_[j] * coef_[j];
        return total;
    }

    // Compute predictions and what follows from them afresh.
    void predict() {
        std::vector<Index> held;
        for (Index j = 0; j < static_cast<Index>(coef_.size()); ++j)
            if (coef_[j] != 0.0) held.push_back(j);
        std::vector<double> values;
        for (const Index j : held) values.push_back(coef_[j]);
        combine(held, values, predictions_);
        value_ = evaluate(predictions_) + 0.5 * ridge_ * power();
    }

    double evaluate(View<const double> predictions) {
        ++evaluations_;
        return evaluate_(predictions, responses_, slope_, curvature_);
    }

    // out <- the sum of columns with weights.
    void combine(const std::vector<Index> &indices, View<const double> weights, View<double> out) {
        fill(out, 0.0);
        columns_.add(indices, weights, out);
        for (std::size_t t = 0; t < indices.size(); ++t)
            if (is_dense(indices[t]))
                axpy(weights[static_cast<Index>(t)], dense_[indices[t] - p_], out);
    }

    void compute_gradient(const std::vector<Index> &indices) {
        const double n = static_cast<double>(slope_.size());
        const double shift = columns_.signed_sum(slope_);
        for (const Index j : indices)
            gradient_[j] = is_dense(j) ? dot(slope_, dense_[j - p_]) / n
                                       : columns_.dot(j, slope_, shift) / n + ridge_ * coef_[j];
    }

    // The largest violation of optimality among some coefficients.
    double violation(const std::vector<Index> &indices) const {
        double worst = 0.0;
        for (const Index j : indices) {
            const double size = std::abs(gradient_[j]);
            double own = size;
            if (!is_dense(j))
                own = coef_[j] != 0.0 ? std::abs(gradient_[j] + std::copysign(lam_, coef_[j]))
                                      : std::max(size - lam_, 0.0);
            worst = larger_or_nan(own, worst);
        }
        return worst;
    }

    // The coefficients that a step moves: dense ones, nonzero ones and the worst violators.
    std::vector<Index> active() const {
        std::vector<Index> indices, entering;
        for (const Index j : working_with_dense()) {
            if (is_dense(j) || coef_[j] != 0.0)
                indices.push_back(j);
            else if (std::abs(gradient_[j]) > lam_)
                entering.push_back(j);
        }
        const Index most = std::max(FEW, static_cast<Index>(indices.size()));
        if (static_cast<Index>(entering.size()) > most) {
            std::stable_sort(entering.begin(), entering.end(), [this](Index a, Index b) {
                return std::abs(gradient_[a]) > std::abs(gradient_[b]);
            });
            entering.resize(static_cast<std::size_t>(most));
        }
        indices.insert(indices.end(), entering.begin(), entering.end());
        std::sort(indices.begin(), indices.end());
        return indices;
    }

    // Minimise the quadratic model and search towards its minimiser; return whether it moved.
    bool step(double inside, double tolerance) {
        const std::vector<Index> indices = active();
        const Index size = static_cast<Index>(indices.size());
        if (!(inside <= FRESH * inside_before_ && indices == model_)) {
            hessian_ = OwnMatrix<double>(size, size);
            compute_hessian(indices, hessian_);
            model_ = indices;
        }
        inside_before_ = inside;
        const Own<double> price(size), slope(size), target(size), move(size);
        for (Index t = 0; t < size; ++t) {
            const Index j = indices[t];
            price[t] = is_dense(j) ? 0.0 : lam_;
            slope[t] = gradient_[j];
            target[t] = coef_[j];
        }
        const double part = std::min(ACCURACY, inside / lam_);
        Model(hessian_, price, slope, target).minimise(std::max(0.1 * tolerance, part * inside));
        double fall = 0.0, rest = power();
        for (Index t = 0; t < size; ++t) {
            const double own = coef_[indices[t]];
            move[t] = target[t] - own;
            fall +=
                gradient_[indices[t]] * move[t] + price[t] * (std::abs(target[t]) - std::abs(own));
            if (price[t] > 0.0) rest -= own * own;
        }
        if (!(fall < 0.0)) return false;
        combine(indices, move, moves_);
        const double norm_before = norm();
        for (double length = 1.0; length >= SHORTEST; length *= 0.5) {
            copy<double>(predictions_, trial_);
            axpy(length, moves_, trial_);
            double squares = 0.0, bend = 0.0, change = 0.0;
            for (Index t = 0; t < size; ++t) {
                const double own = coef_[indices[t]];
                const double value = length == 1.0 ? target[t] : own + length * move[t];
                if (price[t] == 0.0) continue;
                squares += value * value;
                change += std::abs(value) - std::abs(own);
                bend += value != 0.0 ? std::copysign(1.0, value) * move[t] : -std::abs(move[t]);
            }
            const double value = evaluate(trial_) + 0.5 * ridge_ * std::max(rest + squares, 0.0);
            const double objective = value + lam_ * (norm_before + change);
            if (!(objective <= objective_ + ARMIJO * length * fall)) {
                // A convex function has decreased wherever its slope is still negative. It has
                // also decreased enough where the slope has become at most FLAT of the first one,
                // with the opposite sign (Hager & Zhang 2005).
                double along = dot(slope_, moves_) / static_cast<double>(slope_.size());
                for (Index t = 0; t < size; ++t)
                    if (price[t] > 0.0)
                        along += ridge_ * (coef_[indices[t]] + length * move[t]) * move[t];
                along += lam_ * bend;
                const bool close = -fall <= CLOSE * std::abs(objective_);
                if (!(along <= 0.0 || (close && along <= -FLAT * fall))) continue;
            }
            for (Index t = 0; t < size; ++t)
                coef_[indices[t]] =
                    length == 1.0 ? target[t] : coef_[indices[t]] + length * move[t];
            predictions_.swap(trial_);
            value_ = value;
            objective_ = objective;
            return true;
        }
        evaluate(predictions_);
        return false;
    }

    // Second derivatives by some coefficients.
    void compute_hessian(const std::vector<Index> &indices, Matrix<double> out) {
        const double n = static_cast<double>(curvature_.size());
        columns_.weighted_gram(indices, dense_, curvature_, out);
        for (double &entry : out.flat()) entry /= n;
        for (Index t = 0; t < out.rows(); ++t)
            if (!is_dense(indices[t])) out(t, t) += ridge_;
    }

    Columns &columns_;
    Matrix<const double> dense_;    // (q, n)
    View<const double> responses_;  // (n,)
    Evaluate evaluate_;
    double ridge_;
    Index p_;
    std::vector<double> coef_, gradient_;                                  // (p + q,)
    std::vector<double> predictions_, slope_, curvature_, moves_, trial_;  // (n,)
    std::vector<Index> working_;
    std::vector<char> is_working_;
    OwnMatrix<double> hessian_;  // of the coefficients ``model_``
    std::vector<Index> model_;
    double inside_before_ = 0.0;  // the violation before the last step
    double before_ = 0.0;         // the last lam
    double lam_ = 0.0, value_ = 0.0, objective_ = 0.0, violation_ = 0.0;
    Index evaluations_ = 0;
};

}  // namespace

void bind(nb::module_ &module) {
    // The object refers to the columns and to the memory of two arrays, which are never converted.
    nb::class_<NewtonPath>(module, "NewtonPath")
        .def(nb::init<Columns &, Matrix<const double>, View<const double>, double,
                      View<const double>>(),
             nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg(), nb::arg(),
             nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>())
        .def("follow", &NewtonPath::follow)
        .def_prop_ro("coef", [](NewtonPath &self) { return shown(self.coef()); })
        .def_prop_ro("objective", &NewtonPath::objective)
        .def_prop_ro("violation", [](NewtonPath &self) { return self.violation(); })
        .def_prop_ro("evaluations", &NewtonPath::evaluations);
}

}  // namespace greedyexp::newton_path
