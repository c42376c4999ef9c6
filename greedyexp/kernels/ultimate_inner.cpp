// Block descent on the step of the ultimate method; the contract is in ultimate_inner.py.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "casters.hpp"
#include "cholesky.hpp"
#include "linear_algebra.hpp"

namespace greedyexp::ultimate_inner {
namespace {

// The lower triangle of A^T Diag(weights) A, four rows of A at a time.
void weighted_gram(Matrix<const double> A, View<const double> weights, Matrix<double> out) {
    fill(out.flat(), 0.0);
    const Index blocked = A.rows() - A.rows() % 4;
    for (Index k = 0; k < blocked; k += 4) {
        const double *one = A[k].data(), *two = A[k + 1].data();
        const double *three = A[k + 2].data(), *four = A[k + 3].data();
        for (Index i = 0; i < A.columns(); ++i) {
            const double a = weights[k] * one[i], b = weights[k + 1] * two[i];
            const double c = weights[k + 2] * three[i], d = weights[k + 3] * four[i];
            double *__restrict to = out[i].data();
            for (Index j = 0; j <= i; ++j)
                to[j] += (a * one[j] + b * two[j]) + (c * three[j] + d * four[j]);
        }
    }
    for (Index k = blocked; k < A.rows(); ++k)
        for (Index i = 0; i < A.columns(); ++i)
            axpy(weights[k] * A(k, i), A[k], out[i].first(i + 1));
}

// The step and the state of its loop.
class Loop {
  public:
    double lam;
    double smoothness;          // L
    double floor;               // e
    bool falling = true;        // whether rounds lower e
    std::vector<double> start;  // (p,): a
    std::vector<double> slope;  // (p,): g
    std::vector<double> eta;    // (p,): representation of the next point
    std::vector<double> null;   // (p,): w, in the kernel of P
    std::vector<double> gamma;  // (p,): weights of the move
    std::vector<double> theta;  // (p,): weights of the representation

    // The state at eta = a and w = 0, with equal weights and e for the longest first move.
    Loop(Matrix<const double> atoms, View<const double> start, View<const double> slope, double lam,
         double smoothness)
        : lam(lam), smoothness(smoothness), start(start.begin(), start.end()),
          slope(slope.begin(), slope.end()), eta(this->start), null(start.size(), 0.0),
          gamma(start.size(), 1.0 / static_cast<double>(start.size())), theta(start.size()),
          p_(start.size()), r_(atoms.columns()), atoms_(p_, r_), system_(r_, r_), factor_(r_, r_),
          away_(p_), move_(p_), change_(p_), rest_(r_), part_(r_) {
        copy(atoms.flat(), atoms_.view().flat());
        floor = (largest_size(slope) + lam) / (smoothness * static_cast<double>(p_));
        weigh_representation();
    }

    // Minimise over w: sum u_i^2 / gamma_i with P u = P (eta - a), a system of r equations.
    //
    // It is Q z for z = (Q^T D^-1 Q)^-1 Q^T D^-1 (a - eta), D = diag(gamma), without Q and without
    // a division by gamma. If rounding makes the system singular, w does not change.
    void shift_in_kernel() {
        weighted_gram(atoms_, gamma, system_);
        if (!cholesky::factor(system_, factor_)) return;
        for (Index i = 0; i < p_; ++i) away_[i] = eta[i] - start[i];
        multiply_transposed(atoms_, away_, rest_);
        fill(move_.view(), 0.0);
        // The second round makes P u accurate to rounding even if weights differ by many orders.
        for (int round = 0; round < 2; ++round) {
            copy(rest_, part_.view());
            cholesky::solve(factor_, r_, part_);
            cholesky::solve_transposed(factor_, r_, part_, part_);
            for (Index i = 0; i < p_; ++i) {
                change_[i] = gamma[i] * dot(atoms_[i], part_);
                move_[i] += change_[i];
            }
            multiply_transposed(atoms_, change_, part_);
            axpy(-1.0, part_, rest_);
        }
        for (Index i = 0; i < p_; ++i) null[i] = move_[i] - away_[i];
    }

    // Minimise over gamma.
    void weigh_move() {
        double total = 0.0;
        for (Index i = 0; i < p_; ++i) {
            gamma[i] = std::hypot(eta[i] + null[i] - start[i], floor);
            total += gamma[i];
        }
        for (double &weight : gamma) weight /= total;
    }

    // Minimise over theta.
    void weigh_representation() {
        for (Index i = 0; i < p_; ++i) theta[i] = std::hypot(eta[i], floor);
    }

    // Minimise over eta with the exact norm: soft thresholding.
    void threshold() {
        for (Index i = 0; i < p_; ++i) {
            const double reach = gamma[i] / smoothness;
            const double centre = start[i] - null[i] - reach * slope[i];
            const double size = std::abs(centre) - lam * reach;
            eta[i] = size <= 0.0 ? 0.0 : (centre > 0.0 ? size : -size);
        }
    }

    // Minimise over eta with its norm made quadratic by theta.
    void shrink() {
        for (Index i = 0; i < p_; ++i) {
            const double pull = smoothness * (start[i] - null[i]) - gamma[i] * slope[i];
            eta[i] = theta[i] * pull / (smoothness * theta[i] + lam * gamma[i]);
        }
    }

    // The function that the blocks minimise; with ``quadratic``, theta replaces the norm.
    double value(bool quadratic) const {
        double total = 0.0, square = 0.0, norm = 0.0;
        const double power = floor * floor;
        for (Index i = 0; i < p_; ++i) {
            const double away = eta[i] - start[i], u = away + null[i];
            total += slope[i] * away;
            square += (u * u + power) / gamma[i];
            norm += quadratic ? ((eta[i] * eta[i] + power) / theta[i] + theta[i]) / 2.0
                              : std::abs(eta[i]);
        }
        return total + smoothness / 2.0 * square + lam * norm;
    }

    // The value of the step itself, and ||u||_1.
    std::tuple<double, double> step_value() const {
        double total = 0.0, length = 0.0, norm = 0.0;
        for (Index i = 0; i < p_; ++i) {
            const double away = eta[i] - start[i];
            total += slope[i] * away;
            length += std::abs(away + null[i]);
            norm += std::abs(eta[i]);
        }
        return {total + smoothness / 2.0 * length * length + lam * norm, length};
    }

    void alternate(View<double> estimate, View<double> values) {
        double least = begin(estimate);
        for (Index j = 0; j < values.size(); ++j) {
            shift_in_kernel();
            weigh_move();
            threshold();
            values[j] = value(false);
            least = close_round(j, least, estimate);
        }
    }

    void random_blocks(View<const bool> choices, View<double> estimate, View<double> values) {
        double least = begin(estimate);
        for (Index j = 0; j < values.size(); ++j) {
            if (choices[j])
                shrink();
            else
                shift_in_kernel();
            least = close_round(j, least, estimate);
            weigh_move();
            weigh_representation();
            values[j] = value(true);
        }
    }

  private:
    // Write the estimate without a move; return its value.
    double begin(View<double> estimate) const {
        double norm = 0.0;
        for (const double entry : start) norm += std::abs(entry);
        copy(start, estimate);
        return lam * norm;
    }

    // Keep eta in ``estimate`` if it has the least value so far, and lower e if it is falling;
    // return the least value.
    double close_round(Index j, double least, View<double> estimate) {
        handle_signals();
        const auto [reached, length] = step_value();
        if (reached < least) {
            least = reached;
            copy(eta, estimate);
        }
        if (falling && length > 0.0)
            floor = std::min(floor,
                             length / (static_cast<double>(p_) * (1.0 + static_cast<double>(j))));
        return least;
    }

    Index p_;
    Index r_;
    OwnMatrix<double> atoms_;  // spanning R^r
    OwnMatrix<double> system_;
    OwnMatrix<double> factor_;
    Own<double> away_, move_, change_;  // (p,)
    Own<double> rest_, part_;           // (r,)
};

// An array for a property of Python that shows a vector of the loop; its entries can be set.
template <std::vector<double> Loop::*vector>
auto array_of(Loop &loop) {
    return shown(loop.*vector);
}

}  // namespace

void bind(nb::module_ &module) {
    nb::class_<Loop>(module, "Loop")
        .def(nb::init<Matrix<const double>, View<const double>, View<const double>, double,
                      double>())
        .def_rw("lam", &Loop::lam)
        .def_ro("smoothness", &Loop::smoothness)
        .def_rw("floor", &Loop::floor)
        .def_rw("falling", &Loop::falling)
        .def_prop_ro("start", &array_of<&Loop::start>)
        .def_prop_ro("slope", &array_of<&Loop::slope>)
        .def_prop_ro("eta", &array_of<&Loop::eta>)
        .def_prop_ro("null", &array_of<&Loop::null>)
        .def_prop_ro("gamma", &array_of<&Loop::gamma>)
        .def_prop_ro("theta", &array_of<&Loop::theta>)
        .def("shift_in_kernel", &Loop::shift_in_kernel)
        .def("weigh_move", &Loop::weigh_move)
        .def("weigh_representation", &Loop::weigh_representation)
        .def("threshold", &Loop::threshold)
        .def("shrink", &Loop::shrink)
        .def("value", &Loop::value)
        .def("step_value", &Loop::step_value)
        .def("alternate", &Loop::alternate)
        .def("random_blocks", &Loop::random_blocks);
}

}  // namespace greedyexp::ultimate_inner
