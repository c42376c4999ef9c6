// The forward recursion over labelled chains with scaled probabilities.
//
// Words of all chains are rows one after the other; chain c has the rows offsets[c] to
// offsets[c + 1]. Rows are padded to a multiple of GROUP states, for inner loops over whole groups
// of states; the padding has probability zero.
//
// Sums use scaled probabilities where these are accurate, and logarithms elsewhere. With D the
// largest difference within the transition, start or end weights, and D_t that within the scores of
// word t, every quantity of the scaled recursion lies between exp(-2 D - D_t) and exp(2 D + D_t).
// While 2 D + D_t is at most REACH nothing can underflow, and the result is accurate to a few units
// in the last place. Chains beyond that are computed with logarithms.
#pragma once

#include <algorithm>
#include <cmath>

#include "arrays.hpp"

namespace greedyexp::chains {

constexpr Index GROUP = 4;
constexpr double REACH = 600.0;

// Weights of r states: of the first and the last word, and of transitions from the row's state to
// the column's.
struct Weights {
    View<const double> start;
    View<const double> end;
    Matrix<const double> transition;

    Index states() const { return start.size(); }
};

inline double largest_of(View<const double> values) {
    return *std::max_element(values.begin(), values.end());
}

// Largest less smallest.
inline double spread(View<const double> values) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return *high - *low;
}

// Largest difference within the scores of one word, over the words of a chain with r states.
inline double chain_spread(Matrix<const double> scores, Index first, Index last, Index r) {
    double widest = 0.0;
    for (Index t = first; t < last; ++t) widest = std::max(widest, spread(scores[t].first(r)));
    return widest;
}

// exp(weights - largest), padded with zeros.
inline Own<double> scaled(View<const double> weights, Index width) {
    Own<double> out(width, 0.0);
    const double top = largest_of(weights);
    for (Index i = 0; i < weights.size(); ++i) out[i] = std::exp(weights[i] - top);
    return out;
}

// The weights of starts, ends and transitions, scaled and padded.
struct ScaledWeights {
    Own<double> begin;
    Own<double> finish;
    OwnMatrix<double> matrix;
    double top;         // logarithm of the scales of ``begin`` and ``finish`` together
    double matrix_top;  // logarithm of the scale of ``matrix``
    double reach;       // largest spread of scores for which scaled probabilities are accurate

    ScaledWeights(const Weights &weights, Index width)
        : begin(scaled(weights.start, width)), finish(scaled(weights.end, width)),
          matrix(width, width, 0.0), top(largest_of(weights.start) + largest_of(weights.end)),
          matrix_top(largest_of(weights.transition.flat())),
          reach(REACH - 2.0 * std::max({spread(weights.start), spread(weights.end),
                                        spread(weights.transition.flat())})) {
        for (Index i = 0; i < weights.states(); ++i)
            for (Index j = 0; j < weights.states(); ++j)
                matrix(i, j) = std::exp(weights.transition(i, j) - matrix_top);
    }

    // Logarithm of the scale of a chain of ``words`` words.
    double log_scale(Index words) const {
        return top + static_cast<double>(words - 1) * matrix_top;
    }
};

// Replace the scores of r states by exp(score - largest), the padding by zero; return the largest.
inline double exponentiate(View<double> scores, Index r) {
    const double top = largest_of(scores.first(r));
    for (double &score : scores.first(r)) score = std::exp(score - top);
    fill(scores.from(r), 0.0);
    return top;
}

}  // namespace greedyexp::chains
