// The largest value of a quadratic form over sign vectors; the contract is in max_cut.py.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "casters.hpp"
#include "linear_algebra.hpp"

namespace greedyexp::max_cut {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

// ``is_dual`` is first tried when the relative deviation of the rows of C V from those of y V
// is at most this many tolerances, and after a failure when it has fallen by the second factor.
constexpr double FIRST_TRIAL = 64.0;
constexpr double NEXT_TRIAL = 0.5;
// ``largest_form`` computes its running sums afresh after so many steps.
constexpr Index REFRESH = 4096;

// The relaxation at V (k, p) with unit columns v_i. They are kept as rows, padded with zeros to a
// multiple of 4 entries for vector registers.
class Ascent {
  public:
    Ascent(Matrix<const double> C, Matrix<const double> V)
        : C_(C), columns_(V.columns(), padded(V.rows()), 0.0),
          before_(V.columns(), padded(V.rows()), 0.0), pull_(padded(V.rows())) {
        for (Index i = 0; i < V.columns(); ++i)
            for (Index t = 0; t < V.rows(); ++t) columns_(i, t) = before_(i, t) = V(t, i);
    }

    // v + momentum (v - v at the last call), scaled to unit length, for each column.
    void extrapolate(double momentum) {
        for (Index i = 0; i < columns_.rows(); ++i) {
            const View<double> column = columns_[i], before = before_[i];
            double square = 0.0;
            for (Index t = 0; t < column.size(); ++t) {
                const double now = column[t];
                column[t] = now + momentum * (now - before[t]);
                before[t] = now;
                square += column[t] * column[t];
            }
            const double scale = 1.0 / std::sqrt(square);
            for (double &entry : column) entry *= scale;
        }
    }

    // Set each column in turn to its best value given the others.
    void sweep() {
        for (Index i = 0; i < columns_.rows(); ++i) {
            const View<double> column = columns_[i];
            multiply_transposed(columns_, C_[i], pull_);
            axpy(-C_(i, i), column, pull_);
            const double square = dot(pull_, pull_);
            if (square > 0.0) {
                const double scale = 1.0 / std::sqrt(square);
                for (Index t = 0; t < column.size(); ++t) column[t] = scale * pull_[t];
            }
        }
    }

    // y_i = v_i^T sum_j C_ij v_j; returns the largest relative deviation of C V from y V.
    double multipliers(View<double> y) {
        double worst = 0.0;
        for (Index i = 0; i < columns_.rows(); ++i) {
            multiply_transposed(columns_, C_[i], pull_);
            y[i] = dot(pull_, columns_[i]);
            const double excess = dot(pull_, pull_) / (y[i] * y[i]) - 1.0;
            worst = y[i] > 0.0 ? std::max(worst, std::sqrt(std::max(excess, 0.0))) : INFINITE;
        }
        return worst;
    }

    void write(Matrix<double> V) const {
        for (Index i = 0; i < V.columns(); ++i)
            for (Index t = 0; t < V.rows(); ++t) V(t, i) = columns_(i, t);
    }

  private:
    static Index padded(Index k) { return (k + 3) / 4 * 4; }

    Matrix<const double> C_;
    OwnMatrix<double> columns_;
    OwnMatrix<double> before_;
    Own<double> pull_;
};

bool is_dual(Matrix<const double> C, View<const double> y, double slack, double allowance) {
    const Index p = y.size();
    if (!std::all_of(y.begin(), y.end(), [](double value) { return value > 0.0; })) return false;
    const OwnMatrix<double> factor(p, p);
    std::vector<double> root(p);
    for (Index i = 0; i < p; ++i) root[i] = std::sqrt(y[i]);
    for (Index i = 0; i < p; ++i) {
        const View<double> row = factor[i];
        const double scale = 1.0 / root[i];
        for (Index j = 0; j < i; ++j) {
            const double entry = -C(i, j) * scale / root[j];
            row[j] = (entry - dot(row.first(j), factor[j])) / factor(j, j);
        }
        const double diagonal = 1.0 + slack - allowance - C(i, i) / y[i];
        const double remainder = diagonal - dot(row.first(i), row);
        if (!(remainder > 0.0)) return false;
        row[i] = std::sqrt(remainder);
    }
    return true;
}

std::pair<Index, bool> ascend(Matrix<const double> C, Matrix<double> V, double slack,
                              double allowance, Index most, View<double> y) {
    Ascent ascent(C, V);
    double value = -INFINITE, step = 1.0, trial = FIRST_TRIAL * slack;
    Index sweeps = 0;
    bool certified = false;
    while (!certified && sweeps < most) {
        handle_signals();
        ++sweeps;
        const double following = 0.5 * (1.0 + std::sqrt(1.0 + 4.0 * step * step));
        ascent.extrapolate((step - 1.0) / following);
        ascent.sweep();
        const double deviation = ascent.multipliers(y);
        double now = 0.0;
        for (const double multiplier : y) now += multiplier;
        step = now >= value ? following : 1.0;
        value = now;
        if (deviation <= trial) {
            certified = is_dual(C, y, slack, allowance);
            trial = NEXT_TRIAL * deviation;
        }
    }
    ascent.write(V);
    return {sweeps, certified};
}

double largest_form(Matrix<const double> C, View<double> best) {
    const Index p = C.rows();
    const Own<double> v(p, 1.0), w(p);
    multiply(C, v, w);
    double value = dot(v, w), most = value;
    fill(best, 1.0);
    for (std::uint64_t step = 1; step < std::uint64_t{1} << (p - 1); ++step) {
        // The place of the lowest bit of step is the sign that the Gray code flips.
        const Index i = std::countr_zero(step);
        value += 4.0 * (C(i, i) - v[i] * w[i]);
        axpy(-2.0 * v[i], C[i], w);
        v[i] = -v[i];
        if (step % REFRESH == 0) {
            handle_signals();
            multiply(C, v, w);
            value = dot(v, w);
        }
        if (value > most) {
            most = value;
            copy(v, best);
        }
    }
    return most;
}

}  // namespace

void bind(nb::module_ &module) {
    module.attr("REFRESH") = REFRESH;
    module.def("ascend", &ascend);
    module.def("is_dual", &is_dual);
    module.def("largest_form", &largest_form);
}

}  // namespace greedyexp::max_cut
