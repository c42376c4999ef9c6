// Descent on quadratic losses; the contracts are in coordinate_descent.py.
//
// Every move updates the residual in time n, which gives the objective at every step. The gradient
// is updated by a row of the Gram matrix (time p) if that matrix is kept, else by a product with
// all atoms (time n p). Both are computed afresh every REFRESH steps and whenever the residual has
// become ten times smaller, which keeps their errors at the rounding level of their current size.
#include <cmath>
#include <utility>
#include <vector>

#include "casters.hpp"
#include "gram_fit.hpp"
#include "linear_algebra.hpp"

namespace greedyexp::coordinate_descent {
namespace {

enum Rule { GAUSS_SOUTHWELL, PROXIMAL_GAUSS_SOUTHWELL, PROXIMAL_GRADIENT, MATCHING_PURSUIT };

constexpr Index REFRESH = 1000;
// Squared residual, over that of the last refresh, at which to refresh.
constexpr double SHRUNK = 1e-2;
// An objective is compared with its target a second time, with a residual computed afresh, if they
// agree to the relative precision DOUBT, or if an error of the residual could explain the
// difference. RESIDUAL_DOUBT is the size of that error, relative to y and the first residual.
constexpr double DOUBT = 1e-12;
constexpr double RESIDUAL_DOUBT = 1e-14;

// argmin over t of slope (t - value) + (L/2) (t - value)^2 + lam |t|.
double shrunk(double value, double slope, double lam, double smoothness) {
    const double free = value - slope / smoothness;
    return std::copysign(std::max(std::abs(free) - lam / smoothness, 0.0), free);
}

// 2 L times the decrease of the model from a nonzero value to its minimum.
//
// Computed as a sum of positive terms: near an optimum the difference of the values of the model
// would be a rounding error.
double gain(double value, double slope, double lam, double smoothness) {
    const double inward = value > 0.0 ? lam + slope : lam - slope;
    const double way = smoothness * std::abs(value);
    if (inward <= way) return inward * inward;
    const double beyond = std::max(inward - 2.0 * lam - way, 0.0);
    return way * (2.0 * inward - way) + beyond * beyond;
}

// Coordinates that a step moves, and their new values. A feature may occur twice, first with the
// value zero; the later value counts.
struct Moves {
    std::vector<Index> features;
    std::vector<double> values;

    void clear() {
        features.clear();
        values.clear();
    }
    void add(Index feature, double value) {
        features.push_back(feature);
        values.push_back(value);
    }
};

// Place of the largest rate >= 0, the lowest feature among equals, or -1.
//
// A step removes few coordinates, so repeated searches cost less than sorting.
Index best_rate(View<const double> rate, View<const Index> held) {
    Index best = -1;
    for (Index t = 0; t < held.size(); ++t)
        if (rate[t] >= 0.0 &&
            (best < 0 || rate[t] > rate[best] || (rate[t] == rate[best] && held[t] < held[best])))
            best = t;
    return best;
}

// The step of regularised matching pursuit at ``coef`` with nonzero coefficients ``held``, in any
// order; see ``propose`` in coordinate_descent.py. ``steepest`` is the feature with the largest
// |g_i|, ``rate`` (>= held.size(),) is scratch.
void propose(View<const double> coef, View<const double> grad, double lam, double smoothness,
             View<const Index> held, Index steepest, View<double> rate, Moves &moves) {
    moves.clear();
    const double outward = std::max(std::abs(grad[steepest]) - lam, 0.0);
    for (Index t = 0; t < held.size(); ++t) {
        const Index i = held[t];
        const double inward = coef[i] > 0.0 ? lam + grad[i] : lam - grad[i];
        rate[t] = inward > outward ? inward : -1.0;
    }
    double spent = 0.0, last = 0.0;
    for (Index best; (best = best_rate(rate, held)) >= 0;) {
        const Index i = held[best];
        const double left = rate[best] / smoothness - spent;
        if (left <= 0.0) return;
        if (left < std::abs(coef[i])) {
            moves.add(i, coef[i] - std::copysign(left, coef[i]));
            return;
        }
        moves.add(i, 0.0);
        rate[best] = -1.0;
        spent += std::abs(coef[i]);
        if (i == steepest) last = coef[i];
    }
    const double left = outward / smoothness - spent;
    if (left > 0.0)
        moves.add(steepest, coef[steepest] - last - std::copysign(left, grad[steepest]));
}

// A point of p coordinates and the data of the next step.
class Descent {
  public:
    Descent(Matrix<const double> atoms, Matrix<const double> gram, View<const double> response,
            double lam, double smoothness, View<const double> start)
        : atoms_(atoms), gram_(gram), response_(response), lam_(lam), smoothness_(smoothness),
          coef_(atoms.rows()), residual_(atoms.columns()), grad_(atoms.rows()), held_(atoms.rows()),
          position_(atoms.rows(), -1), outside_(atoms.rows(), 0), score_(atoms.rows()),
          other_(atoms.columns()) {
        for (Index i = 0; i < start.size(); ++i) put(i, start[i]);
        refresh();
        const double scale = std::sqrt(dot(response_, response_)) + std::sqrt(power_);
        doubted_ = (RESIDUAL_DOUBT * scale) * (RESIDUAL_DOUBT * scale);
    }

    std::vector<double> &coef() { return coef_; }
    std::vector<double> &grad() { return grad_; }
    std::vector<double> &residual() { return residual_; }
    Index iteration() const { return iteration_; }
    Index last_outside() const { return last_outside_; }

    void watch(View<const bool> outside) {
        outside_.assign(outside.begin(), outside.end());
        count_outside();
        last_outside_ = held_outside_ > 0 ? iteration_ : -1;
    }

    void descend(int rule, Index until, double target) {
        while (iteration_ < until && !reached(target)) {
            handle_signals();
            switch (rule) {
                case GAUSS_SOUTHWELL: step_gauss_southwell(); break;
                case PROXIMAL_GAUSS_SOUTHWELL: step_proximal_gauss_southwell(); break;
                case PROXIMAL_GRADIENT: step_proximal_gradient(); break;
                default: step_matching_pursuit();
            }
            conclude();
        }
    }

    // ||P a - y||^2 / (2 n) + lam ||a||_1 from a residual computed afresh.
    double objective() {
        compute_residual(other_);
        return dot(other_, other_) / (2.0 * static_cast<double>(other_.size())) + lam_ * size();
    }

  private:
    Matrix<const double> atoms_;  // (p, n): columns of P
    Matrix<const double> gram_;   // (p, p): P^T P / n, or (0, 0) when it is not kept
    View<const double> response_;
    double lam_;
    double smoothness_;  // L1 or L2
    std::vector<double> coef_;
    std::vector<double> residual_;   // P a - y
    std::vector<double> grad_;       // P^T residual / n
    std::vector<Index> held_;        // features with nonzero coefficients, then anything
    std::vector<Index> position_;    // place in ``held_``, or -1
    std::vector<char> outside_;      // whether to note a nonzero coefficient
    std::vector<double> score_;      // scratch
    std::vector<double> other_;      // scratch, another residual
    Moves moves_;                    // scratch
    double power_at_refresh_ = 0.0;  // squared residual at the last refresh
    double power_ = 0.0;             // squared residual now
    double doubted_ = 0.0;           // square of rounding errors of the residual
    Index iteration_ = 0;
    Index held_count_ = 0;
    Index age_ = 0;  // steps since a refresh
    Index held_outside_ = 0;
    Index last_outside_ = -1;

    View<const Index> held() const { return View<const Index>(held_).first(held_count_); }

    void count_outside() {
        held_outside_ = 0;
        for (Index i : held()) held_outside_ += outside_[i];
    }

    void put(Index i, double value) {
        if (value != 0.0 && position_[i] < 0) {
            position_[i] = held_count_;
            held_[held_count_++] = i;
            held_outside_ += outside_[i];
        } else if (value == 0.0 && position_[i] >= 0) {
            const Index last = held_[--held_count_];
            held_[position_[i]] = last;
            position_[last] = position_[i];
            position_[i] = -1;
            held_outside_ -= outside_[i];
        }
        coef_[i] = value + 0.0;  // no negative zeros
    }

    // Set a coefficient; update the residual and, if the Gram matrix is kept, the gradient.
    void move(Index i, double value) {
        const double change = value - coef_[i];
        axpy(change, atoms_[i], residual_);
        if (gram_.rows() > 0) axpy(change, gram_[i], grad_);
        put(i, value);
    }

    // Set all coefficients; ``conclude`` then computes residual and gradient afresh.
    void move_all(View<const double> values) {
        held_count_ = 0;
        for (Index i = 0; i < values.size(); ++i) {
            coef_[i] = values[i] + 0.0;
            position_[i] = -1;
            if (coef_[i] != 0.0) {
                position_[i] = held_count_;
                held_[held_count_++] = i;
            }
        }
        count_outside();
        age_ = REFRESH;
    }

    // out = P a - y, in time n for each nonzero coefficient
    void compute_residual(View<double> out) {
        for (Index t = 0; t < held_count_; ++t) score_[t] = -coef_[held_[t]];
        for (Index j = 0; j < out.size(); ++j) out[j] = -response_[j];
        subtract_rows(out, score_, atoms_, held_, held_count_);
    }

    void correlate() {
        const double n = static_cast<double>(response_.size());
        multiply(atoms_, residual_, grad_);
        for (double &derivative : grad_) derivative /= n;
    }

    void refresh() {
        compute_residual(residual_);
        correlate();
        power_ = power_at_refresh_ = dot(residual_, residual_);
        age_ = 0;
    }

    // End a step after its moves: update the gradient and the counts.
    void conclude() {
        ++iteration_;
        ++age_;
        if (held_outside_ > 0) last_outside_ = iteration_;
        power_ = dot(residual_, residual_);
        if (age_ >= REFRESH || power_ < SHRUNK * power_at_refresh_)
            refresh();
        else if (gram_.rows() == 0)
            correlate();
    }

    // ||a||_1
    double size() const {
        double total = 0.0;
        for (Index i : held()) total += std::abs(coef_[i]);
        return total;
    }

    // Whether the objective is at most ``target``.
    bool reached(double target) {
        const double n = static_cast<double>(response_.size());
        double value = power_ / (2.0 * n);
        const double doubt = std::sqrt(power_ * doubted_) / n;
        if (value > target + DOUBT * value + doubt) return false;
        value += lam_ * size();
        return value <= target + DOUBT * value + doubt && objective() <= target;
    }

    // The coordinate along which G falls most steeply away from zero.
    //
    // Rates |g_i| - lam are compared, since near an optimum the derivatives g_i are all close to
    // lam.
    Index steepest() {
        const double lam = lam_, *grad = grad_.data();
        double *__restrict score = score_.data();
        for (std::size_t i = 0; i < grad_.size(); ++i)
            score[i] = std::max(std::abs(grad[i]) - lam, 0.0);
        return first_largest(score_).first;
    }

    void step_gauss_southwell() {
        const Index i = steepest();
        move(i, coef_[i] - grad_[i] / smoothness_);
    }

    void step_proximal_gauss_southwell() {
        const double lam = lam_, *grad = grad_.data();
        double *__restrict score = score_.data();
        for (std::size_t i = 0; i < grad_.size(); ++i) {
            const double outward = std::max(std::abs(grad[i]) - lam, 0.0);
            score[i] = outward * outward;
        }
        for (Index i : held()) score[i] = gain(coef_[i], grad[i], lam, smoothness_);
        const Index i = first_largest(score_).first;
        move(i, shrunk(coef_[i], grad_[i], lam_, smoothness_));
    }

    void step_proximal_gradient() {
        const double lam = lam_, smoothness = smoothness_, *coef = coef_.data(),
                     *grad = grad_.data();
        double *__restrict score = score_.data();
        for (std::size_t i = 0; i < coef_.size(); ++i)
            score[i] = shrunk(coef[i], grad[i], lam, smoothness);
        move_all(score_);
    }

    void step_matching_pursuit() {
        propose(coef_, grad_, lam_, smoothness_, held(), steepest(), score_, moves_);
        for (std::size_t t = 0; t < moves_.features.size(); ++t)
            move(moves_.features[t], moves_.values[t]);
    }
};

// The step of regularised matching pursuit, for a caller without a state.
Moves propose_alone(View<const double> coef, View<const double> grad, double lam,
                    double smoothness) {
    std::vector<Index> held;
    std::vector<double> rate(coef.size());
    Index steepest = 0;
    for (Index i = 0; i < coef.size(); ++i) {
        if (coef[i] != 0.0) held.push_back(i);
        if (std::abs(grad[i]) > std::abs(grad[steepest])) steepest = i;
    }
    Moves moves;
    propose(coef, grad, lam, smoothness, held, steepest, rate, moves);
    return moves;
}

Index descend_diagonal(View<double> rho, View<double> shift, View<const double> pull,
                       View<const double> keep, Index steps, double least) {
    const double *to_shift = pull.data(), *to_rho = keep.data();
    double *__restrict residual = rho.data(), *__restrict moved = shift.data();
    for (Index made = 0; made < steps; ++made) {
        if (made % REFRESH == 0) handle_signals();
        if (dot(rho, rho) <= least) return made;
        for (Index j = 0; j < rho.size(); ++j) {
            moved[j] -= to_shift[j] * residual[j];
            residual[j] *= to_rho[j];
        }
    }
    return steps;
}

bool descend_quadratic(Matrix<const double> hessian, View<double> slope, View<double> u, double lam,
                       double tolerance, Index limit) {
    for (Index round = 0; round < limit; ++round) {
        handle_signals();
        double largest = 0.0;
        for (Index j = 0; j < u.size(); ++j) {
            const double own = hessian(j, j);
            if (own <= 0.0) continue;
            const double target = own * u[j] - slope[j];
            double value = 0.0;
            if (target > lam)
                value = (target - lam) / own;
            else if (target < -lam)
                value = (target + lam) / own;
            const double step = value - u[j];
            if (step != 0.0) {
                u[j] = value;
                axpy(step, hessian[j], slope);
                largest = std::max(largest, std::abs(step) * own);
            }
        }
        if (largest <= tolerance) return true;
    }
    return false;
}

}  // namespace

void bind(nb::module_ &module) {
    module.attr("REFRESH") = REFRESH;
    module.attr("GAUSS_SOUTHWELL") = static_cast<int>(GAUSS_SOUTHWELL);
    module.attr("PROXIMAL_GAUSS_SOUTHWELL") = static_cast<int>(PROXIMAL_GAUSS_SOUTHWELL);
    module.attr("PROXIMAL_GRADIENT") = static_cast<int>(PROXIMAL_GRADIENT);
    module.attr("MATCHING_PURSUIT") = static_cast<int>(MATCHING_PURSUIT);
    // The object refers to the memory of the first three arrays, so these are never converted.
    nb::class_<Descent>(module, "Descent")
        .def(nb::init<Matrix<const double>, Matrix<const double>, View<const double>, double,
                      double, View<const double>>(),
             nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg(),
             nb::arg(), nb::arg(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
             nb::keep_alive<1, 4>())
        .def("descend", &Descent::descend)
        .def("watch", &Descent::watch)
        .def("objective", &Descent::objective)
        .def_prop_ro("coef", [](Descent &self) { return shown(self.coef()); })
        .def_prop_ro("grad", [](Descent &self) { return shown(self.grad()); })
        .def_prop_ro("residual", [](Descent &self) { return shown(self.residual()); })
        .def_prop_ro("iteration", &Descent::iteration)
        .def_prop_ro("last_outside", &Descent::last_outside);
    module.def("propose", [](View<const double> coef, View<const double> grad, double lam,
                             double smoothness) {
        Moves moves = propose_alone(coef, grad, lam, smoothness);
        return std::pair(to_numpy(std::move(moves.features)), to_numpy(std::move(moves.values)));
    });
    module.def("descend_diagonal", &descend_diagonal);
    module.def("descend_quadratic", &descend_quadratic);
}

}  // namespace greedyexp::coordinate_descent
