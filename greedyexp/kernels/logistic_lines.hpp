// The mean logistic loss; see logistic_lines.py.
#pragma once

#include <cmath>

#include "linear_algebra.hpp"

namespace greedyexp::logistic_lines {

// The sum of log(1 + e_i) is computed as the logarithm of the product of all 1 + e_i. Only the part
// of the product beyond one is kept, which preserves the digits of small e_i. Outside these bounds
// its logarithm is taken.
constexpr double LOW = -0.5, HIGH = 4.0;

// Mean loss; ``weights`` <- minus its derivatives by the margins, 1 / (1 + exp(m_i)).
inline double losses(View<const double> margins, View<double> weights) {
    double total = 0.0, excess = 0.0;
    for (Index i = 0; i < margins.size(); ++i) {
        const double small = std::exp(-std::abs(margins[i]));
        const double share = 1.0 / (1.0 + small);
        if (margins[i] >= 0.0) {
            weights[i] = small * share;
        } else {
            weights[i] = share;
            total -= margins[i];
        }
        excess += small * (1.0 + excess);
        if (excess > HIGH) {
            total += std::log1p(excess);
            excess = 0.0;
        }
    }
    return (total + std::log1p(excess)) / static_cast<double>(margins.size());
}

}  // namespace greedyexp::logistic_lines
