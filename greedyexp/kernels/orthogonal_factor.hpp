// A QR factorisation that follows its matrix when a column is added at the end or removed.
//
// For N of shape (k, m) of full column rank, ``basis`` (k, k) holds the orthogonal factor
// transposed: its first m rows span the columns of N, the others their orthogonal complement.
// ``triangle`` (k, k) holds R in its leading m x m part. Both changes cost O(k^2).
#pragma once

#include <cmath>

#include "linear_algebra.hpp"

namespace greedyexp::orthogonal_factor {

// Add a column to ``size`` < k others, of which it is linearly independent, by a reflection of the
// complement.
inline void append(Matrix<double> basis, Matrix<double> triangle, Index size,
                   View<const double> column) {
    const Index k = column.size();
    const Own<double> parts(k), image(k);
    multiply(basis, column, parts);
    const View<double> rest = parts.view().from(size);
    const double length = std::sqrt(dot(rest, rest));
    const double pivot = rest[0] > 0.0 ? -length : length;
    for (Index j = 0; j < size; ++j) triangle(j, size) = parts[j];
    triangle(size, size) = pivot;
    rest[0] -= pivot;
    const double power = dot(rest, rest);
    if (power == 0.0) return;
    const Matrix<double> complement(basis[size].data(), k - size, k);
    multiply_transposed(complement, rest, image);
    for (Index j = 0; j < k - size; ++j) axpy(-(2.0 * rest[j] / power), image, complement[j]);
}

// Remove column ``index`` of ``size``; later ones move up. The row of ``basis`` that is no longer
// needed becomes the first of the complement.
inline void remove(Matrix<double> basis, Matrix<double> triangle, Index size, Index index) {
    for (Index j = index; j < size - 1; ++j)
        for (Index i = 0; i < j + 2; ++i) triangle(i, j) = triangle(i, j + 1);
    for (Index j = index; j < size - 1; ++j) {
        const View<double> upper = triangle[j].first(size - 1).from(j);
        const View<double> lower = triangle[j + 1].first(size - 1).from(j);
        const double length = std::hypot(upper[0], lower[0]);
        const double cosine = upper[0] / length, sine = lower[0] / length;
        rotate(upper, lower, cosine, sine);
        rotate(basis[j], basis[j + 1], cosine, sine);
    }
}

// x <- R^-1 x on the leading ``size`` entries.
inline void solve(Matrix<const double> triangle, Index size, View<double> x) {
    for (Index j = size - 1; j >= 0; --j) {
        double total = x[j];
        for (Index i = j + 1; i < size; ++i) total -= triangle(j, i) * x[i];
        x[j] = total / triangle(j, j);
    }
}

// x <- R^-T x on the leading ``size`` entries.
inline void solve_transposed(Matrix<const double> triangle, Index size, View<double> x) {
    for (Index j = 0; j < size; ++j) {
        x[j] /= triangle(j, j);
        axpy(-x[j], triangle[j].first(size).from(j + 1), x.first(size).from(j + 1));
    }
}

}  // namespace greedyexp::orthogonal_factor
