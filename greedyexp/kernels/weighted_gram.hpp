// Gram matrices of rows with a weight for each sample.
#pragma once

#include <algorithm>
#include <vector>

#include "arrays.hpp"

namespace greedyexp {

// out(i, j) <- sum_s weights_s rows_i(s) rows_j(s), where all rows have the size of ``weights``.
//
// Samples are packed in panels that stay in the cache. An entry is the sum of one running sum for
// each panel, so it has the same bits for any width of the registers, and whatever the other rows.
inline void weighted_gram(const std::vector<View<const double>> &rows, View<const double> weights,
                          Matrix<double> out) {
    constexpr Index PANEL = 64, TALL = 4, WIDE = 8;
    const Index n = weights.size(), k = static_cast<Index>(rows.size());
    const Index width = (k + WIDE - 1) / WIDE * WIDE;
    const Own<double> plain(PANEL * width, 0.0), weighted(PANEL * width, 0.0);
    fill(out.flat(), 0.0);
    for (Index first = 0; first < n; first += PANEL) {
        const Index size = std::min(PANEL, n - first);
        const double *weight = weights.data() + first;
        for (Index j = 0; j < k; ++j) {
            const double *row = rows[j].data() + first;
            for (Index s = 0; s < size; ++s) {
                plain.data()[s * width + j] = row[s];
                weighted.data()[s * width + j] = weight[s] * row[s];
            }
        }
        for (Index top = 0; top < k; top += TALL)
            for (Index left = 0; left < top + TALL && left < k; left += WIDE) {
                double sums[TALL][WIDE] = {};
                const double *down = weighted.data() + top, *across = plain.data() + left;
                for (Index s = 0; s < size; ++s, down += width, across += width)
                    for (Index a = 0; a < TALL; ++a)
                        for (Index b = 0; b < WIDE; ++b) sums[a][b] += down[a] * across[b];
                for (Index a = 0; a < TALL && top + a < k; ++a)
                    for (Index b = 0; b < WIDE && left + b <= top + a; ++b)
                        out(top + a, left + b) += sums[a][b];
            }
    }
    for (Index i = 0; i < k; ++i)
        for (Index j = 0; j < i; ++j) out(j, i) = out(i, j);
}

}  // namespace greedyexp
