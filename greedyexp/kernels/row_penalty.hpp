// The row penalty of Lasso, l1/linf group lasso and dirty model: its minimiser and its dual.
//
// For one row v of the coefficients (r tasks) the penalty is the support function of
// {u : |u_j| <= lam_s, sum_j |u_j| <= lam_b}, equal to
// min over theta >= 0 of lam_b theta + lam_s sum_j max(|v_j| - theta, 0). The box alone
// (lam_b = r lam_s) is the l1 norm, the l1 ball alone (lam_b = lam_s) the linf norm.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "linear_algebra.hpp"

namespace greedyexp::row_penalty {

// The kind of an entry of a row with clip level theta.
using Kind = std::int8_t;
constexpr Kind ZERO = 0;   // |v_j| = 0
constexpr Kind UPPER = 1;  // |v_j| > theta, price lam_s
constexpr Kind TIED = 2;   // |v_j| = theta > 0, together at the price lam_b minus that of the UPPER
constexpr Kind LOWER = 3;  // |v_j| < theta, price 0

// Relative tolerance for comparing sums of prices with lam_b. They agree up to rounding only when
// lam_b / lam_s is an integer, and such a tie must be recognised.
constexpr double ROUNDING = 1e-14;

inline double sign(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0; }

// sum_j u_j(theta) for u_j = clip(|g_j| - h_j theta, 0, lam_s), with exact flat parts even if lam_s
// is much smaller than g.
inline double spent(View<const double> g, View<const double> h, double lam_s, double theta) {
    double total = 0.0;
    for (Index j = 0; j < g.size(); ++j) {
        const double size = std::abs(g[j]);
        if (h[j] > 0.0 && theta < size / h[j])
            total += theta <= (size - lam_s) / h[j] ? lam_s : size - h[j] * theta;
    }
    return total;
}

// Neighbouring breakpoints of theta -> sum_j u_j(theta) around its last crossing of lam_b.
inline std::pair<double, double> bracket(View<const double> g, View<const double> h, double lam_s,
                                         double lam_b) {
    std::vector<double> cuts = {0.0};
    for (Index j = 0; j < g.size(); ++j) {
        if (!(h[j] > 0.0)) continue;
        const double size = std::abs(g[j]);
        cuts.push_back(size / h[j]);
        if (size > lam_s) cuts.push_back((size - lam_s) / h[j]);
    }
    std::sort(cuts.begin(), cuts.end());
    std::size_t low = 0, high = cuts.size() - 1;
    while (high - low > 1) {
        const std::size_t middle = (low + high) / 2;
        if (spent(g, h, lam_s, cuts[middle]) >= lam_b * (1.0 - ROUNDING))
            low = middle;
        else
            high = middle;
    }
    return {cuts[low], cuts[high]};
}

// The minimiser if the box alone spends more than lam_b; returns theta.
inline double minimise_tied(View<const double> g, View<const double> h, double lam_s, double lam_b,
                            View<double> row, View<Kind> kind) {
    const auto [low, high] = bracket(g, h, lam_s, lam_b);
    double numerator = -lam_b, denominator = 0.0;
    for (Index j = 0; j < g.size(); ++j) {
        const double size = std::abs(g[j]);
        kind[j] = ZERO;
        if (!(h[j] > 0.0)) continue;
        if ((size - lam_s) / h[j] >= high) {
            kind[j] = UPPER;
            numerator += lam_s;
        } else if (size / h[j] <= low) {
            kind[j] = LOWER;
        } else {
            kind[j] = TIED;
            numerator += size;
            denominator += h[j];
        }
    }
    const double theta = std::clamp(numerator / denominator, low, high);
    for (Index j = 0; j < g.size(); ++j) {
        if (kind[j] == ZERO)
            row[j] = 0.0;
        else if (kind[j] == UPPER)
            row[j] = sign(g[j]) * (std::abs(g[j]) - lam_s) / h[j];
        else if (kind[j] == LOWER)
            row[j] = g[j] / h[j];
        else
            row[j] = sign(g[j]) * theta;
    }
    return theta;
}

// Minimise sum_j h_j v_j^2 / 2 - g_j v_j + penalty(v) over v, exactly; return theta.
//
// The dual solution is u_j = clip(|g_j| - h_j theta, 0, lam_s) with the smallest theta >= 0 for
// which sum_j u_j <= lam_b (the largest when it is not unique), and |v_j| = (|g_j| - u_j) / h_j.
// v_j = 0 where h_j = 0. ``row`` and ``kind`` (r,) are filled with v and the kinds of its entries.
inline double minimise(View<const double> g, View<const double> h, double lam_s, double lam_b,
                       View<double> row, View<Kind> kind) {
    double total = 0.0;
    for (Index j = 0; j < g.size(); ++j)
        if (h[j] > 0.0) total += std::min(std::abs(g[j]), lam_s);
    if (total > lam_b * (1.0 + ROUNDING)) {
        const double theta = minimise_tied(g, h, lam_s, lam_b, row, kind);
        if (theta > 0.0) return theta;
    }
    for (Index j = 0; j < g.size(); ++j) {
        const bool upper = h[j] > 0.0 && std::abs(g[j]) > lam_s;
        row[j] = upper ? sign(g[j]) * (std::abs(g[j]) - lam_s) / h[j] : 0.0;
        kind[j] = upper ? UPPER : ZERO;
    }
    return 0.0;
}

// The kind of an entry of a row with a given clip level.
inline Kind kind_of(double entry, double theta) {
    const double size = std::abs(entry);
    if (size == 0.0) return ZERO;
    return size > theta ? UPPER : size < theta ? LOWER : TIED;
}

// The cheapest clip level of a row: lowering it gains lam_b and costs lam_s for each larger entry.
inline double clip_level(View<const double> row, double lam_s, double lam_b) {
    if (lam_b * (1.0 + ROUNDING) >= static_cast<double>(row.size()) * lam_s) return 0.0;
    std::vector<double> sizes;
    for (const double entry : row) sizes.push_back(std::abs(entry));
    std::sort(sizes.begin(), sizes.end(), std::greater<>());
    return sizes[static_cast<std::size_t>(lam_b * (1.0 - ROUNDING) / lam_s)];
}

inline bool any_tied(Matrix<const Kind> kind, Index i) {
    for (Index j = 0; j < kind.rows(); ++j)
        if (kind(j, i) == TIED) return true;
    return false;
}

// Change the kinds of row i, whose entry j has reached a kink, for coefficients and kinds (r, p).
inline void cross(Matrix<double> coef, View<double> theta, Matrix<Kind> kind, Index j, Index i) {
    if (!any_tied(kind, i)) {
        coef(j, i) = 0.0;
        kind(j, i) = ZERO;
    } else if (kind(j, i) == TIED || theta[i] <= 0.0) {
        theta[i] = 0.0;
        for (Index task = 0; task < coef.rows(); ++task)
            if (kind(task, i) != UPPER) {
                coef(task, i) = 0.0;
                kind(task, i) = ZERO;
            }
    } else {
        coef(j, i) = coef(j, i) > 0.0 ? theta[i] : -theta[i];
        kind(j, i) = TIED;
    }
}

// For each row i of grad (r, p) the smallest m such that it lies in m times the dual unit set.
inline void gauges(Matrix<const double> grad, double lam_s, double lam_b, View<double> out) {
    const Index p = grad.columns();
    std::vector<double> totals(p, 0.0);
    double *__restrict total = totals.data(), *__restrict largest = out.data();
    fill(out, 0.0);
    for (Index j = 0; j < grad.rows(); ++j) {
        const double *own = grad[j].data();
        for (Index i = 0; i < p; ++i) {
            const double size = std::abs(own[i]);
            largest[i] = size > largest[i] ? size : largest[i];
            total[i] += size;
        }
    }
    for (Index i = 0; i < p; ++i) out[i] = larger_or_nan(total[i] / lam_b, largest[i] / lam_s);
}

// Objective and duality gap (an upper bound on the distance from the optimum).
//
// ``coef``, ``grad`` and ``correlation`` (r, p) are the coefficients, X_j^T (y_j - X_j b_j) / n_j
// and X_j^T y_j / n_j, ``theta`` (p,) a clip level for each row (at an optimum the best one), and
// ``power`` is sum_j ||y_j||^2 / n_j.
//
// With R = ||residual||^2 / n, the dual point t * residual / n is feasible for t <= 1 / gauge and
// the gap is R (1 - t)^2 / 2 + sum over rows of (penalty_i - t <b_i, grad_i>). No term is
// negative, so nothing as large as the objective cancels.
inline std::pair<double, double> certificate(Matrix<const double> coef, View<const double> theta,
                                             Matrix<const double> grad,
                                             Matrix<const double> correlation, double power,
                                             double lam_s, double lam_b) {
    const Index r = coef.rows(), p = coef.columns();
    std::vector<double> gauge(p);
    gauges(grad, lam_s, lam_b, gauge);
    double top = 1.0, inner = 0.0, fitted = 0.0, penalty = 0.0;
    for (Index i = 0; i < p; ++i) {
        top = larger_or_nan(top, gauge[i]);
        penalty += lam_b * theta[i];
        for (Index j = 0; j < r; ++j)
            if (coef(j, i) != 0.0) {
                inner += coef(j, i) * grad(j, i);
                fitted += coef(j, i) * correlation(j, i);
                penalty += lam_s * std::max(std::abs(coef(j, i)) - theta[i], 0.0);
            }
    }
    const double residual = std::max(power - fitted - inner, 0.0), t = 1.0 / top;
    double slack = 0.0;
    for (Index i = 0; i < p; ++i) {
        double own = lam_b * theta[i];
        for (Index j = 0; j < r; ++j)
            if (coef(j, i) != 0.0) {
                own += lam_s * std::max(std::abs(coef(j, i)) - theta[i], 0.0);
                own -= t * coef(j, i) * grad(j, i);
            }
        slack += std::max(own, 0.0);
    }
    return {0.5 * residual + penalty, 0.5 * residual * ((1.0 - t) * (1.0 - t)) + slack};
}

}  // namespace greedyexp::row_penalty
