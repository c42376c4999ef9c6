// Smoothed absolute and hinge losses along coordinates; the contracts are in clipped_lines.py.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "casters.hpp"
#include "linear_algebra.hpp"
#include "logistic_columns.hpp"

namespace greedyexp::clipped_lines {
namespace {

using logistic_columns::Columns;

constexpr int MOST_STEPS = 200;
// Newton steps between two steps that certainly shorten the bracket.
constexpr int NEWTON_STEPS = 8;
// A Newton step on one piece is exact: a second one this much shorter is a rounding error.
constexpr double SHORTER = 1e-8;
// So is a step smaller than this part of the sum of all steps.
constexpr double NOTHING = 1e-15;
// A sum of slopes counts as zero when it is at most this part of the sum of their sizes.
constexpr double SLOPE_ROUNDING = std::numeric_limits<double>::epsilon();
constexpr double INFINITE = std::numeric_limits<double>::infinity();

// The nearest number between two bounds; std::clamp returns a reference, which prevents the use of
// vector registers.
double clip(double value, double least, double most) {
    return value < least ? least : value > most ? most : value;
}

struct Sums {
    double slope, curvature, size;
};

// The function phi with phi' = clip(beta u, low, 1), and its sums along a column z.
struct Loss {
    double beta, low;

    // Sums over samples of slope, curvature and |slope| at a step a along z.
    Sums derivatives(View<const double> column, View<const double> arguments, double a) const {
        const double *z = column.data(), *u = arguments.data();
        const Index n = column.size(), blocked = n - n % LANES;
        double slope[LANES] = {}, curvature[LANES] = {}, size[LANES] = {};
        const auto add = [&](Index i, Index k) {
            const double raw = beta * (u[i] + a * z[i]);
            const double term = z[i] * clip(raw, low, 1.0);
            slope[k] += term;
            size[k] += std::abs(term);
            curvature[k] += low < raw && raw < 1.0 ? z[i] * z[i] : 0.0;
        };
        for (Index i = 0; i < blocked; i += LANES)
            for (Index k = 0; k < LANES; ++k) add(i + k, k);
        for (Index i = blocked; i < n; ++i) add(i, i - blocked);
        return {total_of(slope), beta * total_of(curvature), total_of(size)};
    }

    // Sum over samples of phi(u + a z) - phi(u) - a z phi'(u) >= 0, without cancellation.
    double bend(View<const double> column, View<const double> arguments, double a) const {
        const double *z = column.data(), *u = arguments.data();
        const double first = low / beta, last = 1.0 / beta;
        return beta * sum(column.size(), [=](Index i) {
                   const double t = u[i] + a * z[i];
                   const double here = clip(u[i], first, last);
                   const double there = clip(t, first, last);
                   return (there - here) * (0.5 * (there - here) + (t - there));
               });
    }

    // Distance to the last kink of any sample in the direction ``sign``.
    double farthest_kink(View<const double> z, View<const double> u, double sign) const {
        double far = 0.0;
        for (Index i = 0; i < z.size(); ++i)
            if (z[i] != 0.0)
                far = std::max(
                    {far, sign * (low / beta - u[i]) / z[i], sign * (1.0 / beta - u[i]) / z[i]});
        return far;
    }

    // A kink strictly inside a bracket, and its sample; the right end and -1 if there is none. The
    // search begins at the sample ``start`` modulo their number.
    std::pair<double, Index> kink(View<const double> z, View<const double> u, double sign,
                                  double left, double right, Index start) const {
        for (Index t = 0; t < z.size(); ++t) {
            const Index i = (start + t) % z.size();
            if (z[i] == 0.0) continue;
            for (const double edge : {low / beta, 1.0 / beta}) {
                const double a = sign * (edge - u[i]) / z[i];
                if (left < a && a < right) return {a, i};
            }
        }
        return {right, -1};
    }

    // The step to a minimum along a coordinate, and the derivative before it.
    //
    // The derivative is piecewise linear and does not decrease. Newton's method, exact on the last
    // piece, runs inside a bracket. If a step leaves the bracket, a kink inside is tried; without a
    // kink the derivative is linear between the ends.
    std::pair<double, double> step(View<const double> z, View<const double> u, double n_samples,
                                   double ridge, double coefficient) const {
        Sums here = derivatives(z, u, 0.0);
        const double slope = here.slope / n_samples + ridge * coefficient;
        const double size = here.size / n_samples + ridge * std::abs(coefficient);
        if (std::abs(slope) <= SLOPE_ROUNDING * size) return {0.0, slope};
        // From here on a >= 0 is a distance downhill; ``fall`` is negative beyond the minimum.
        const double sign = slope > 0.0 ? -1.0 : 1.0;
        double left = 0.0, fall_left = std::abs(slope);
        double right = farthest_kink(z, u, sign);
        double fall_right = std::numeric_limits<double>::quiet_NaN();
        if (ridge > 0.0) right = std::max(right, -sign * coefficient);
        double a = 0.0, fall = std::abs(slope), last = 0.0;
        Index start = 0;
        int newton = 0;
        for (int count = 0; count < MOST_STEPS; ++count) {
            const double bending = here.curvature / n_samples + ridge;
            const double move = bending > 0.0 ? fall / bending : INFINITE;
            if (std::abs(move) <= std::max(SHORTER * last, NOTHING * a)) {
                a += move;
                break;
            }
            if (left < a + move && a + move < right && newton < NEWTON_STEPS) {
                a += move;
                last = std::abs(move);
                ++newton;
            } else {
                const auto [found, place] = kink(z, u, sign, left, right, start);
                a = found;
                last = 0.0;
                newton = 0;
                start = place + z.size() / 2 + 1;
                if (place < 0 && !std::isnan(fall_right)) {
                    a = left + (right - left) * fall_left / (fall_left - fall_right);
                    break;
                }
            }
            here = derivatives(z, u, sign * a);
            fall = -sign * here.slope / n_samples - ridge * (sign * coefficient + a);
            if (fall > 0.0 && a < right) {
                left = a;
                fall_left = fall;
            } else {
                right = a;
                fall_right = std::min(fall, 0.0);
            }
            if (fall == 0.0) break;
        }
        return {sign * a, slope};
    }
};

double line_step(View<const double> z, View<const double> u, double ridge, double coefficient,
                 double beta, double low) {
    const double n = static_cast<double>(u.size());
    return Loss{beta, low}.step(z, u, n, ridge, coefficient).first;
}

double bend(View<const double> z, View<const double> u, double a, double beta, double low) {
    return Loss{beta, low}.bend(z, u, a);
}

void line_minima(Columns &columns, View<const double> u, double ridge, View<const double> coef,
                 double beta, double low, View<double> steps, View<double> gains) {
    const Loss loss{beta, low};
    const double n = static_cast<double>(u.size());
    for (Index j = 0; j < gains.size(); ++j) {
        handle_signals();
        const auto [z, own] = columns.line(j, u);
        const auto [a, slope] = loss.step(z, own, n, ridge, coef[j]);
        steps[j] = a;
        gains[j] = std::max(-a * (slope + 0.5 * ridge * a) - loss.bend(z, own, a) / n, 0.0);
    }
}

void falls(Matrix<const double> rows, View<const double> coef, View<const double> u, double ridge,
           double beta, double low, View<double> out) {
    const Loss loss{beta, low};
    const double n = static_cast<double>(u.size());
    for (Index t = 0; t < coef.size(); ++t) {
        const double slope = loss.derivatives(rows[t], u, 0.0).slope / n;
        const double away = loss.bend(rows[t], u, -coef[t]) / n;
        out[t] = away - coef[t] * slope - 0.5 * ridge * (coef[t] * coef[t]);
    }
}

}  // namespace

void bind(nb::module_ &module) {
    module.def("line_step", &line_step);
    module.def("bend", &bend);
    module.def("line_minima", &line_minima);
    module.def("falls", &falls);
}

}  // namespace greedyexp::clipped_lines
