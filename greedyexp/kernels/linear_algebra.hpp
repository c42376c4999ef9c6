// Sums of vectors, inner products, products of matrices and plane rotations.
//
// Numbers are added in an order that does not depend on the processor, so results have the same
// bits everywhere.
#pragma once

#include <algorithm>
#include <cmath>

#include "arrays.hpp"

namespace greedyexp {

// Eight partial sums fill vector registers of any width up to 512 bits.
constexpr Index LANES = 8;

inline double total_of(const double (&lanes)[LANES]) {
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
           ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

// Sum of term(i) over i < size.
template <class Term>
double sum(Index size, Term term) {
    const Index blocked = size - size % LANES;
    double lanes[LANES] = {};
    for (Index i = 0; i < blocked; i += LANES)
        for (Index k = 0; k < LANES; ++k) lanes[k] += term(i + k);
    double total = total_of(lanes);
    for (Index i = blocked; i < size; ++i) total += term(i);
    return total;
}

// std::max returns whichever comes first if one of them is not a number.
inline double larger_or_nan(double a, double b) { return a > b || std::isnan(a) ? a : b; }

// The maximum of term(i) >= 0 over i < size, zero if there are none.
template <class Term>
double largest(Index size, Term term) {
    double top = 0.0;
    // The order of comparisons does not affect the maximum.
#pragma omp simd reduction(max : top)
    for (Index i = 0; i < size; ++i) top = std::max(top, term(i));
    return top;
}

// The largest absolute value, zero if there are none.
inline double largest_size(View<const double> x) {
    const double *value = x.data();
    return largest(x.size(), [=](Index i) { return std::abs(value[i]); });
}

// Inner product of the first ``x.size()`` entries.
inline double dot(View<const double> x, View<const double> y) {
    GREEDYEXP_REQUIRE(x.size() <= y.size());
    const double *a = x.data(), *b = y.data();
    const Index size = x.size(), blocked = size - size % LANES;
    double lanes[LANES] = {};
    for (Index i = 0; i < blocked; i += LANES)
        for (Index k = 0; k < LANES; ++k) lanes[k] += a[i + k] * b[i + k];
    double total = total_of(lanes);
    for (Index i = blocked; i < size; ++i) total += a[i] * b[i];
    return total;
}

// y += scale * x
inline void axpy(double scale, View<const double> x, View<double> y) {
    GREEDYEXP_REQUIRE(x.size() >= y.size());
    const double *a = x.data();
    double *__restrict out = y.data();
    for (Index i = 0; i < y.size(); ++i) out[i] += scale * a[i];
}

// out -= sum over t < count of weights[t] * matrix[order[t]], four rows at a time. ``out`` is none
// of these rows.
template <class Rows>
void subtract_rows(View<double> out, View<const double> weights, const Rows &matrix,
                   View<const Index> order, Index count) {
    double *__restrict to = out.data();
    const Index size = out.size(), blocked = count - count % 4;
    for (Index t = 0; t < blocked; t += 4) {
        const double *one = matrix[order[t]].data(), *two = matrix[order[t + 1]].data();
        const double *three = matrix[order[t + 2]].data(), *four = matrix[order[t + 3]].data();
        const double a = weights[t], b = weights[t + 1], c = weights[t + 2], d = weights[t + 3];
        for (Index i = 0; i < size; ++i)
            to[i] -= (a * one[i] + b * two[i]) + (c * three[i] + d * four[i]);
    }
    for (Index t = blocked; t < count; ++t) axpy(-weights[t], matrix[order[t]], out);
}

// out -= sum over t < weights.size() of weights[t] * matrix[t, :out.size()], four rows at a time.
inline void subtract_first_rows(View<double> out, View<const double> weights,
                                Matrix<const double> matrix) {
    GREEDYEXP_REQUIRE(out.size() <= matrix.columns());
    double *__restrict to = out.data();
    const Index size = out.size(), count = weights.size(), blocked = count - count % 4;
    for (Index t = 0; t < blocked; t += 4) {
        const double *one = matrix[t].data(), *two = matrix[t + 1].data();
        const double *three = matrix[t + 2].data(), *four = matrix[t + 3].data();
        const double a = weights[t], b = weights[t + 1], c = weights[t + 2], d = weights[t + 3];
        for (Index i = 0; i < size; ++i)
            to[i] -= (a * one[i] + b * two[i]) + (c * three[i] + d * four[i]);
    }
    for (Index t = blocked; t < count; ++t) axpy(-weights[t], matrix[t], out);
}

// out = A x
inline void multiply(Matrix<const double> A, View<const double> x, View<double> out) {
    for (Index i = 0; i < A.rows(); ++i) out[i] = dot(A[i], x);
}

// out += A^T x, four rows of A at a time. ``out`` is none of them.
inline void add_rows(View<const double> x, Matrix<const double> A, View<double> out) {
    GREEDYEXP_REQUIRE(x.size() == A.rows() && out.size() == A.columns());
    double *__restrict to = out.data();
    const Index size = out.size(), blocked = A.rows() - A.rows() % 4;
    for (Index t = 0; t < blocked; t += 4) {
        const double *one = A[t].data(), *two = A[t + 1].data();
        const double *three = A[t + 2].data(), *four = A[t + 3].data();
        const double a = x[t], b = x[t + 1], c = x[t + 2], d = x[t + 3];
        for (Index i = 0; i < size; ++i)
            to[i] += (a * one[i] + b * two[i]) + (c * three[i] + d * four[i]);
    }
    for (Index t = blocked; t < A.rows(); ++t) axpy(x[t], A[t], out);
}

// out = A^T x
inline void multiply_transposed(Matrix<const double> A, View<const double> x, View<double> out) {
    fill(out, 0.0);
    add_rows(x, A, out);
}

// out += the squares of the columns of A (n, p) added up, in the order of ``multiply``.
inline void add_squares(Matrix<const double> A, View<double> out) {
    double *__restrict to = out.data();
    const Index blocked = A.rows() - A.rows() % 4;
    for (Index k = 0; k < blocked; k += 4) {
        const double *one = A[k].data(), *two = A[k + 1].data();
        const double *three = A[k + 2].data(), *four = A[k + 3].data();
        for (Index j = 0; j < out.size(); ++j)
            to[j] +=
                (one[j] * one[j] + two[j] * two[j]) + (three[j] * three[j] + four[j] * four[j]);
    }
    for (Index k = blocked; k < A.rows(); ++k)
        for (Index j = 0; j < out.size(); ++j) to[j] += A(k, j) * A(k, j);
}

// out = A B, where ``out`` is neither A nor B. Each row is that of ``add_rows``, to the last bit.
//
// The columns are split so that four rows of B stay in the fastest cache for all rows of A.
inline void multiply(Matrix<const double> A, Matrix<const double> B, Matrix<double> out) {
    constexpr Index WIDE = 512;
    fill(out.flat(), 0.0);
    const Index blocked = B.rows() - B.rows() % 4;
    for (Index left = 0; left < B.columns(); left += WIDE) {
        const Index width = std::min(WIDE, B.columns() - left);
        for (Index k = 0; k < blocked; k += 4) {
            const double *one = B[k].data() + left, *two = B[k + 1].data() + left;
            const double *three = B[k + 2].data() + left, *four = B[k + 3].data() + left;
            for (Index i = 0; i < A.rows(); ++i) {
                const double a = A(i, k), b = A(i, k + 1), c = A(i, k + 2), d = A(i, k + 3);
                double *__restrict to = out[i].data() + left;
                for (Index j = 0; j < width; ++j)
                    to[j] += (a * one[j] + b * two[j]) + (c * three[j] + d * four[j]);
            }
        }
        for (Index k = blocked; k < B.rows(); ++k)
            for (Index i = 0; i < A.rows(); ++i)
                axpy(A(i, k), B[k].from(left).first(width), out[i].from(left).first(width));
    }
}

// out = A B^T
inline void multiply_by_transposed(Matrix<const double> A, Matrix<const double> B,
                                   Matrix<double> out) {
    for (Index i = 0; i < A.rows(); ++i)
        for (Index j = 0; j < B.rows(); ++j) out(i, j) = dot(A[i], B[j]);
}

// Apply a plane rotation to two vectors.
inline void rotate(View<double> one, View<double> other, double cosine, double sine) {
    for (Index i = 0; i < one.size(); ++i) {
        const double a = one[i], b = other[i];
        one[i] = cosine * a + sine * b;
        other[i] = cosine * b - sine * a;
    }
}

// grad_j = correlation_j - G_j coef_j for each task j, in time p for each nonzero coefficient.
// G (1 or r, p, p) is shared if it has one matrix; the others are (r, p).
inline void gradient(Cube<const double> G, Matrix<const double> correlation,
                     Matrix<const double> coef, Matrix<double> grad) {
    const Index r = coef.rows(), p = coef.columns();
    const Own<Index> held(p);
    const Own<double> weights(p);
    for (Index j = 0; j < r; ++j) {
        Index count = 0;
        for (Index i = 0; i < p; ++i)
            if (coef(j, i) != 0.0) {
                held[count] = i;
                weights[count++] = coef(j, i);
            }
        copy(correlation[j], grad[j]);
        subtract_rows(grad[j], weights, G[std::min(j, G.depth() - 1)], held, count);
    }
}

// Copy the nonzero coefficients (r, p) to a point of a path (p, r); return their number.
inline Index write_point(Matrix<const double> coef, Matrix<double> point) {
    Index count = 0;
    for (Index i = 0; i < coef.columns(); ++i)
        for (Index j = 0; j < coef.rows(); ++j)
            if (coef(j, i) != 0.0) {
                point(i, j) = coef(j, i);
                ++count;
            }
    return count;
}

}  // namespace greedyexp
