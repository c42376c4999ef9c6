// Losses L(a, y) of a prediction and a response: values and slopes.
//
// ``beta`` smooths the absolute and the hinge loss; the other two ignore it. With an infinite
// ``beta`` the values of both are those without smoothing.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "linear_algebra.hpp"

namespace greedyexp::scalar_losses {

// (a - y)^2 / 2 and log(1 + exp(-y a)); |a - y| and max(0, 1 - y a), smoothed. Labels are -1 and 1.
enum Kind { SQUARED, LOGISTIC, ABSOLUTE, HINGE };

// L(a, y)
inline double value(int kind, double a, double y, double beta) {
    if (kind == SQUARED) return 0.5 * (a - y) * (a - y);
    if (kind == LOGISTIC) return std::log1p(std::exp(-std::abs(a))) + std::max(-y * a, 0.0);
    const double excess = kind == ABSOLUTE ? std::abs(a - y) : std::max(1.0 - y * a, 0.0);
    return beta * excess < 1.0 ? 0.5 * beta * excess * excess : excess - 0.5 / beta;
}

// Derivative of L(a, y) by a.
inline double slope(int kind, double a, double y, double beta) {
    if (kind == SQUARED) return a - y;
    if (kind == LOGISTIC) {
        const double small = std::exp(-std::abs(a));
        return -y * (y * a > 0.0 ? small : 1.0) / (1.0 + small);
    }
    if (kind == ABSOLUTE) return std::min(std::max(beta * (a - y), -1.0), 1.0);
    return -y * std::min(std::max(beta * (1.0 - y * a), 0.0), 1.0);
}

// Return loop(kind) with ``kind`` as a constant, for which the compiler makes a loop of its own.
template <class Loop>
auto with_constant(int kind, Loop loop) {
    switch (kind) {
        case SQUARED: return loop(std::integral_constant<int, SQUARED>());
        case LOGISTIC: return loop(std::integral_constant<int, LOGISTIC>());
        case ABSOLUTE: return loop(std::integral_constant<int, ABSOLUTE>());
        default: return loop(std::integral_constant<int, HINGE>());
    }
}

// out_i <- derivative of L(a_i, y_i) by a_i.
inline void slopes(int kind, double beta, View<const double> a, View<const double> y,
                   View<double> out) {
    GREEDYEXP_REQUIRE(a.size() == y.size() && out.size() == y.size());
    with_constant(kind, [=](auto constant) {
        const double *prediction = a.data(), *response = y.data();
        double *__restrict to = out.data();
        for (Index i = 0; i < y.size(); ++i)
            to[i] = slope(constant, prediction[i], response[i], beta);
    });
}

// sum_i L(a_i, y_i)
inline double total(int kind, double beta, View<const double> a, View<const double> y) {
    GREEDYEXP_REQUIRE(a.size() == y.size());
    return with_constant(kind, [=](auto constant) {
        const double *prediction = a.data(), *response = y.data();
        return sum(y.size(),
                   [=](Index i) { return value(constant, prediction[i], response[i], beta); });
    });
}

}  // namespace greedyexp::scalar_losses
