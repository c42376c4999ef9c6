// A Cholesky factor that follows its matrix when an index is added or removed.
//
// The factor L of A = L L^T is kept in the rows of a larger array: row i holds L[i, :i + 1], and
// the rest is scratch. Adding an index takes one triangular solve and removing one takes a sweep of
// plane rotations. Both cost O(k^2) and read rows in order.
#pragma once

#include <cmath>

#include "linear_algebra.hpp"

namespace greedyexp::cholesky {

// Write row ``size``: extend the factor (m, m), m > size, by one index of the matrix.
//
// ``cross`` (>= size,) holds the entries of the new index with the present ones, ``diagonal`` its
// entry with itself. Returns the new pivot squared over ``diagonal``: for a Gram matrix the squared
// sine of the angle between the new column and the span of the others. Zero if the matrix is not
// positive definite to working precision; the row is then undefined.
inline double append(Matrix<double> chol, Index size, View<const double> cross, double diagonal) {
    View<double> row = chol[size];
    double remainder = diagonal;
    for (Index i = 0; i < size; ++i) {
        const double entry = (cross[i] - dot(row.first(i), chol[i])) / chol(i, i);
        row[i] = entry;
        remainder -= entry * entry;
    }
    if (!(remainder > 0.0)) return 0.0;
    row[size] = std::sqrt(remainder);
    return remainder / diagonal;
}

// Remove one index of a factor of order ``size``; later ones move up. ``rotated`` (m,) holds
// L^{-1} c for a right-hand side c and becomes that of c without the entry ``index``.
inline void remove(Matrix<double> chol, Index size, Index index, View<double> rotated) {
    const Index count = size - 1 - index;
    const Own<double> cosine(count), sine(count);
    for (Index i = index; i < size - 1; ++i) {
        View<double> row = chol[i], lower = chol[i + 1];
        for (Index t = 0; t < index; ++t) row[t] = lower[t];
        double carry = lower[index];
        for (Index t = index; t < i; ++t) {
            const Index q = t - index;
            row[t] = cosine[q] * carry + sine[q] * lower[t + 1];
            carry = cosine[q] * lower[t + 1] - sine[q] * carry;
        }
        const double pivot = std::hypot(carry, lower[i + 1]);
        row[i] = pivot;
        cosine[i - index] = carry / pivot;
        sine[i - index] = lower[i + 1] / pivot;
    }
    double carry = rotated[index];
    for (Index q = 0; q < count; ++q) {
        const double following = rotated[index + q + 1];
        rotated[index + q] = cosine[q] * carry + sine[q] * following;
        carry = cosine[q] * following - sine[q] * carry;
    }
}

// Write entry ``size`` of L^{-1} c after ``append``; ``value`` is the new entry of c.
inline void extend_solution(Matrix<const double> chol, Index size, double value,
                            View<double> rotated) {
    rotated[size] =
        (value - dot(View<const double>(rotated).first(size), chol[size])) / chol(size, size);
}

// x <- L^{-1} x on the leading ``size`` entries.
inline void solve(Matrix<const double> chol, Index size, View<double> x) {
    for (Index i = 0; i < size; ++i)
        x[i] = (x[i] - dot(View<const double>(x).first(i), chol[i])) / chol(i, i);
}

// Solve L^T x = ``rotated`` into ``solution[:size]``, the second half of solving A x = c.
// ``rotated`` and ``solution`` may be the same array.
inline void solve_transposed(Matrix<const double> chol, Index size, View<const double> rotated,
                             View<double> solution) {
    for (Index i = 0; i < size; ++i) solution[i] = rotated[i];
    for (Index i = size - 1; i >= 0; --i) {
        solution[i] /= chol(i, i);
        axpy(-solution[i], chol[i], solution.first(i));
    }
}

// Factor a symmetric matrix, given by its lower triangle; return false if it is not positive
// definite to working precision.
inline bool factor(Matrix<const double> matrix, Matrix<double> chol) {
    for (Index i = 0; i < matrix.rows(); ++i)
        if (append(chol, i, matrix[i], matrix(i, i)) == 0.0) return false;
    return true;
}

// The inverse of a matrix A = L L^T from its factor, as L^-T L^-1.
inline void invert(Matrix<const double> chol, Matrix<double> inverse) {
    const Index size = chol.rows();
    OwnMatrix<double> lower(size, size, 0.0);  // L^-1
    const Own<double> weights(size);
    for (Index i = 0; i < size; ++i) {
        const View<double> row = lower[i];
        for (Index t = 0; t < i; t += 4)  // Row t ends at entry t.
            subtract_first_rows(row.first(std::min(t + 4, i)),
                                chol[i].from(t).first(std::min<Index>(4, i - t)),
                                lower.view().from(t));
        for (Index t = 0; t < i; ++t) row[t] /= chol(i, i);
        row[i] = 1.0 / chol(i, i);
    }
    for (Index i = 0; i < size; ++i) {
        const View<double> row = inverse[i].first(i + 1);
        fill(row, 0.0);
        for (Index t = i; t < size; ++t) weights[t] = -lower(t, i);
        subtract_first_rows(row, weights.view().from(i), lower.view().from(i));
        for (Index t = 0; t < i; ++t) inverse(t, i) = row[t];
    }
}

}  // namespace greedyexp::cholesky
