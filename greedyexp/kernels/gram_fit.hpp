// Least squares on a support that grows and shrinks, in Gram form; see gram_fit.py.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "arrays.hpp"

namespace greedyexp {

// A column counts as lying in the span of the support if the squared sine of its angle to the span
// is below SPAN: in Gram form the error of that number is about 1e-14.
constexpr double SPAN = 1e-10;
// Gains below this part of the response power are rounding errors of the residual correlation.
constexpr double GAIN_FLOOR = 1e-20;
// Gains and costs that agree to this relative precision count as equal, and the lowest index wins.
// Otherwise rounding would break ties by the order of summation.
constexpr double TIE = 1e-10;
// A column with at most this mean square counts as zero; the inverse would overflow.
constexpr double NO_COLUMN = 1e-300;

// 1 / (2 G_ii), or zero for a zero column.
inline std::vector<double> half_inverse_of(Matrix<const double> gram) {
    std::vector<double> out(gram.rows(), 0.0);
    for (Index i = 0; i < gram.rows(); ++i)
        if (gram(i, i) > NO_COLUMN) out[i] = 0.5 / gram(i, i);
    return out;
}

// The maximum of numbers >= 0, zero if there are none; independent maxima fill vector registers.
inline double largest(View<const double> values) {
    constexpr Index lanes = 8;
    double top[lanes] = {};
    const double *value = values.data();
    const Index blocked = values.size() - values.size() % lanes;
    for (Index i = 0; i < blocked; i += lanes)
        for (Index k = 0; k < lanes; ++k) top[k] = value[i + k] > top[k] ? value[i + k] : top[k];
    for (Index i = blocked; i < values.size(); ++i) top[0] = std::max(top[0], value[i]);
    return *std::max_element(top, top + lanes);
}

// The lowest index of the maximum of numbers >= 0, up to rounding, and the maximum.
inline std::pair<Index, double> first_largest(View<const double> values) {
    const double top = largest(values);
    for (Index i = 0; i < values.size(); ++i)
        if (values[i] >= top * (1.0 - TIE)) return {i, top};
    return {0, top};
}

}  // namespace greedyexp
