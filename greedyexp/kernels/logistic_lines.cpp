// The mean logistic loss along coordinates; the contracts are in logistic_lines.py.
#include "logistic_lines.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "casters.hpp"
#include "logistic_columns.hpp"

namespace greedyexp::logistic_lines {
namespace {

using logistic_columns::Columns;
using logistic_columns::Line;

// A Newton step that moves no margin by more than this is the last: its error is of the order of
// its square. A step smaller than the rounding of the sum of all steps is not tried either.
constexpr double NEAR = 1e-6;
constexpr double NOTHING = 1e-15;
// Largest step in units of one margin while the minimum is not bracketed.
constexpr double STRIDE = 4.0;
constexpr int MOST_STEPS = 200;
// For larger moves of a margin the change of the loss is the difference of two losses.
constexpr double FAR = 1.0;
// The search for the maximiser of a gain bound ends at this part of the first slope; the bound
// covers the rest.
constexpr double BOUND_NEAR = 1e-6;
constexpr int MOST_BOUND_STEPS = 60;
// Allowance of a gain bound for rounding, relative to it and to the size of its terms.
constexpr double SLACK = 1e-9;
constexpr double CANCELLED = 1e-15;
constexpr double INFINITE = std::numeric_limits<double>::infinity();

// log(1 + exp(-m))
double loss_of(double margin) {
    return std::log1p(std::exp(-std::abs(margin))) + std::max(-margin, 0.0);
}

// Sums over samples of minus the slope and of the curvature at a step a along z.
std::pair<double, double> derivatives(const Line &line, double a) {
    const double *z = line.z.data(), *margins = line.margins.data();
    double slope = 0.0, curvature = 0.0;
    for (Index i = 0; i < line.z.size(); ++i) {
        const double t = margins[i] + a * z[i];
        const double small = std::exp(-std::abs(t));
        const double share = 1.0 / (1.0 + small);
        const double weight = t >= 0.0 ? small * share : share;
        slope += z[i] * weight;
        curvature += z[i] * z[i] * small * share * share;
    }
    return {slope, curvature};
}

// Sum over samples of the loss here less that at a step a along z.
//
// The change by a small move is computed as the logarithm of a number near one, not as a difference
// of two losses, and keeps its digits even far below the rounding of the loss.
double fall(const Line &line, double a) {
    const double *z = line.z.data(), *margins = line.margins.data();
    double total = 0.0, excess = 0.0;
    for (Index i = 0; i < line.z.size(); ++i) {
        const double move = a * z[i];
        if (std::abs(move) <= FAR) {
            excess += std::expm1(-move) / (1.0 + std::exp(margins[i])) * (1.0 + excess);
            if (excess < LOW || excess > HIGH) {
                total -= std::log1p(excess);
                excess = 0.0;
            }
        } else {
            total += loss_of(margins[i]);
            total -= loss_of(margins[i] + move);
        }
    }
    return total - std::log1p(excess);
}

// Step and gain for a column of one sign without a ridge, where the loss has no minimum.
std::pair<double, double> endless(const Line &line, double n_samples, double low) {
    double gain = 0.0;
    for (Index i = 0; i < line.z.size(); ++i)
        if (line.z[i] != 0.0) gain += loss_of(line.margins[i]);
    return {low == 0.0 ? INFINITE : -INFINITE, gain / n_samples};
}

// The step to the minimum along one coordinate, infinite if there is none, and the loss here less
// its minimum or infimum.
std::pair<double, double> line_minimum(const Line &line, double n_samples, double ridge,
                                       double coefficient) {
    const auto [low, high] = logistic_columns::reach_of(line.z);
    if (low == high)
        return {ridge > 0.0 ? -coefficient : 0.0, 0.5 * ridge * coefficient * coefficient};
    if (ridge == 0.0 && (low == 0.0 || high == 0.0)) return endless(line, n_samples, low);
    const double reach = std::max(high, -low);
    double stride = STRIDE / reach;
    double left = -INFINITE, right = INFINITE, a = 0.0;
    for (int step = 0; step < MOST_STEPS; ++step) {
        const auto [down, bend] = derivatives(line, a);
        const double slope = ridge * (coefficient + a) - down / n_samples;
        const double curvature = ridge + bend / n_samples;
        if (slope < 0.0)
            left = a;
        else
            right = a;
        const double move = curvature > 0.0 ? -slope / curvature : std::copysign(INFINITE, -slope);
        if (std::abs(move) * reach <= NEAR || std::abs(move) <= NOTHING * std::abs(a)) {
            a += move;
            break;
        }
        if (std::isinf(left) || std::isinf(right)) {
            a += std::min(std::max(move, -stride), stride);
            stride *= 2.0;
        } else if (left < a + move && a + move < right) {
            a += move;
        } else {
            a = 0.5 * (left + right);
        }
    }
    const double gain = fall(line, a) / n_samples - ridge * a * (coefficient + 0.5 * a);
    return {a, std::max(gain, 0.0)};
}

void line_minima(Columns &columns, View<const double> margins, double ridge,
                 View<const double> coef, View<double> steps, View<double> gains) {
    const double n = static_cast<double>(margins.size());
    for (Index j = 0; j < gains.size(); ++j) {
        handle_signals();
        std::tie(steps[j], gains[j]) = line_minimum(columns.line(j, margins), n, ridge, coef[j]);
    }
}

// Lower bound of the mean loss at a step a along z less that here; see ``gain_bound`` in the
// contract. ``weights`` are minus the derivatives of the losses by the margins.
double rise_bound(View<const double> z, View<const double> weights, double a) {
    const double n = static_cast<double>(z.size());
    double reach = 0.0, slope = 0.0, curvature = 0.0;
    for (Index i = 0; i < z.size(); ++i) {
        reach = std::max(reach, std::abs(z[i]));
        slope -= z[i] * weights[i];
        curvature += z[i] * z[i] * weights[i] * (1.0 - weights[i]);
    }
    const double x = reach * std::abs(a), linear = a * slope / n;
    if (x == 0.0) return 0.0;
    const double bend = curvature / (n * reach * reach), above = bend * (std::expm1(-x) + x);
    return linear + above * (1.0 - SLACK) - CANCELLED * (std::abs(linear) + bend * x);
}

void falls(Matrix<const double> signed_rows, View<const double> coef, View<const double> margins,
           View<const double> weights, double ridge, double most, View<double> out) {
    const double n = static_cast<double>(margins.size());
    for (Index t = 0; t < coef.size(); ++t) {
        const double shrunk = 0.5 * ridge * (coef[t] * coef[t]);
        if (std::isfinite(most)) {
            out[t] = rise_bound(signed_rows[t], weights, -coef[t]) - shrunk;
            if (out[t] > most) continue;
        }
        out[t] = -fall({signed_rows[t], margins}, -coef[t]) / n - shrunk;
    }
}

// Upper bound of the largest left y - bend (exp(-y) + y - 1) - brake y^2 / 2.
//
// With r = left / bend < 1 and no brake it is bend (r + (1 - r) log(1 - r)), at most bend r^2.
double rest(double left, double bend, double brake) {
    if (left < bend) return left * left / bend;
    return brake > 0.0 ? 0.5 * left * left / brake : INFINITE;
}

double gain_bound(double slope, double curvature, double reach, double ridge) {
    if (slope == 0.0) return 0.0;
    if (reach == 0.0) return 0.5 * slope * slope / ridge;
    const double down = std::abs(slope) / reach;
    const double bend = curvature / (reach * reach), brake = ridge / (reach * reach);
    if (brake == 0.0 && down >= bend) return INFINITE;
    double x = 0.0, left = down;
    // The remaining slope is convex in x, so Newton's steps never pass its root.
    for (int step = 0; step < MOST_BOUND_STEPS; ++step) {
        x += left / (bend * std::exp(-x) + brake);
        left = down + bend * std::expm1(-x) - brake * x;
        if (std::abs(left) <= BOUND_NEAR * down) break;
    }
    double bound = down * x - bend * (std::expm1(-x) + x) - 0.5 * brake * x * x;
    if (left > 0.0) bound += rest(left, bend * std::exp(-x), brake);
    return bound * (1.0 + SLACK) + CANCELLED * (down * x + bend * x);
}

std::tuple<Index, double, Index> best_line(Columns &columns, View<const double> margins,
                                           View<const double> slopes, View<const double> curvatures,
                                           View<const double> reach, double ridge, double tie) {
    const double n = static_cast<double>(margins.size());
    std::vector<double> gains(slopes.size(), 0.0);
    Index first = 0, searched = 0;
    double guess = -1.0, top = 0.0;
    for (Index j = 0; j < slopes.size(); ++j) {
        const double bend = curvatures[j] + ridge;
        const double likely = bend > 0.0 ? slopes[j] * slopes[j] / bend : 0.0;
        if (likely > guess) {
            first = j;
            guess = likely;
        }
    }
    const auto search = [&](Index j) {
        if (slopes[j] == 0.0) return;
        const double bound = gain_bound(slopes[j], curvatures[j], reach[j], ridge);
        if (bound < top * (1.0 - 2.0 * tie)) return;
        handle_signals();
        gains[j] = line_minimum(columns.line(j, margins), n, ridge, 0.0).second;
        top = std::max(top, gains[j]);
        ++searched;
    };
    // The likeliest first: the better the best gain so far, the more lines are ruled out.
    search(first);
    for (Index j = 0; j < slopes.size(); ++j)
        if (j != first) search(j);
    for (Index j = 0; j < slopes.size(); ++j)
        if (gains[j] >= top * (1.0 - tie)) return {j, gains[j], searched};
    return {0, 0.0, searched};
}

}  // namespace

void bind(nb::module_ &module) {
    module.def("losses", &losses);
    module.def("line_minima", &line_minima);
    module.def("falls", &falls);
    module.def("gain_bound", &gain_bound);
    module.def("best_line", &best_line);
}

}  // namespace greedyexp::logistic_lines
