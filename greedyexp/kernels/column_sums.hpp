// Largest absolute values, sums and sums of squares of the columns of a matrix, in one pass.
#pragma once

#include <cmath>

#include "arrays.hpp"

namespace greedyexp::column_sums {

// Update the results for COUNT rows, an even number or one, from row ``first`` on.
template <Index COUNT>
void add_rows(Matrix<const double> X, Index first, double *__restrict largest,
              double *__restrict total, double *__restrict squares) {
    const double *row = X[first].data();
    const Index columns = X.columns();
    for (Index j = 0; j < columns; ++j) {
        double top = largest[j], sum = total[j], power = squares[j];
        for (Index k = 0; k < COUNT; k += 2) {
            const double one = row[k * columns + j];
            const double two = k + 1 < COUNT ? row[(k + 1) * columns + j] : 0.0;
            const double a = std::abs(one), b = std::abs(two), larger = a > b ? a : b;
            top = larger > top ? larger : top;
            sum += one + two;
            power += one * one + two * two;
        }
        largest[j] = top;
        total[j] = sum;
        squares[j] = power;
    }
}

// Compute the results, which are zero before, from eight rows at a time: reading and writing them
// takes longer than the arithmetic.
inline void compute(Matrix<const double> X, View<double> largest, View<double> total,
                    View<double> squares) {
    double *top = largest.data(), *sum = total.data(), *power = squares.data();
    Index k = 0;
    for (; k + 8 <= X.rows(); k += 8) add_rows<8>(X, k, top, sum, power);
    for (; k + 2 <= X.rows(); k += 2) add_rows<2>(X, k, top, sum, power);
    if (k < X.rows()) add_rows<1>(X, k, top, sum, power);
}

}  // namespace greedyexp::column_sums
