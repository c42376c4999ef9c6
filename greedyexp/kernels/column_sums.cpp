// One pass over a matrix in C order; the contract is in column_sums.py.
#include <algorithm>
#include <cmath>

#include "casters.hpp"

namespace greedyexp::column_sums {
namespace {

void column_sums(Matrix<const double> X, View<double> largest, View<double> total,
                 View<double> squares) {
    double *__restrict tops = largest.data();
    double *__restrict sums = total.data();
    double *__restrict powers = squares.data();
    // Two rows at a time, because the sums are read and written for each row.
    const Index paired = X.rows() - X.rows() % 2;
    for (Index k = 0; k < paired; k += 2) {
        const double *one = X[k].data(), *two = X[k + 1].data();
        for (Index j = 0; j < X.columns(); ++j) {
            const double a = std::abs(one[j]), b = std::abs(two[j]), top = a > b ? a : b;
            tops[j] = top > tops[j] ? top : tops[j];
            sums[j] += one[j] + two[j];
            powers[j] += a * a + b * b;
        }
    }
    if (paired < X.rows())
        for (Index j = 0; j < X.columns(); ++j) {
            const double last = X(paired, j);
            tops[j] = std::max(tops[j], std::abs(last));
            sums[j] += last;
            powers[j] += last * last;
        }
}

}  // namespace

void bind(nb::module_ &module) { module.def("column_sums", &column_sums); }

}  // namespace greedyexp::column_sums
