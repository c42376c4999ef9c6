// Least squares on a support that grows and shrinks, in Gram form.
//
// For a task with G = X^T X / n and c = X^T y / n the fit on support S solves G_SS b = c_S, and
// c - G_S b is X^T (y - X b) / n, the correlation of the residual. The cost does not depend on the
// number of rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "cholesky.hpp"
#include "gram_rows.hpp"
#include "linear_algebra.hpp"

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
inline std::vector<double> half_inverse_of(const std::vector<double> &diagonal) {
    std::vector<double> out(diagonal.size(), 0.0);
    for (std::size_t i = 0; i < out.size(); ++i)
        if (diagonal[i] > NO_COLUMN) out[i] = 0.5 / diagonal[i];
    return out;
}

// The maximum of numbers >= 0, zero if there are none.
inline double largest(View<const double> values) {
    const double *value = values.data();
    return largest(values.size(), [=](Index i) { return value[i]; });
}

// The maximum of term(i) >= 0 over i < size, and the lowest index that attains it up to rounding,
// as (index, maximum). Blocks without the maximum are skipped, because ``largest`` is vectorised.
template <class Term>
std::pair<Index, double> first_largest(Index size, Term term) {
    constexpr Index BLOCK = 64;
    const double top = largest(size, term), least = top * (1.0 - TIE);
    Index i = 0;
    while (i + BLOCK < size && largest(BLOCK, [=](Index k) { return term(i + k); }) < least)
        i += BLOCK;
    for (; i < size; ++i)
        if (term(i) >= least) return {i, top};
    return {0, top};
}

inline std::pair<Index, double> first_largest(View<const double> values) {
    const double *value = values.data();
    return first_largest(values.size(), [=](Index i) { return value[i]; });
}

// The fit of one task over p features on a support of at most ``capacity`` entries.
class GramFit {
  public:
    GramFit(GramRows &gram, View<const double> correlation, Index capacity)
        : gram_(gram), diagonal_(gram.diagonal()), correlation_(correlation),
          half_inverse_(half_inverse_of(gram.diagonal())), capacity_(capacity),
          chol_(capacity, capacity), rotated_(capacity), coef_(capacity), support_(capacity),
          position_(gram.size(), -1), barred_(gram.size(), false),
          residual_(correlation.begin(), correlation.end()), cross_(capacity) {}

    Index size() const { return size_; }
    Index feature(Index t) const { return support_[t]; }
    double coefficient(Index t) const { return coef_[t]; }
    // Place of feature i in the support, or -1.
    Index position(Index i) const { return position_[i]; }
    bool holds(Index i) const { return position_[i] >= 0; }
    // Columns found in the span of the present support are barred.
    bool barred(Index i) const { return barred_[i]; }
    void bar(Index i) { barred_[i] = true; }
    // Smallest squared sine of any column taken.
    double smallest() const { return smallest_; }

    // Prepare feature i for the support; return false if it lies in the span. Nothing changes
    // until ``commit``. A full support counts as spanning everything.
    //
    // The rows of the Gram matrix that have the largest ``scores`` will be needed soon.
    bool stage(Index i, View<const double> scores) {
        if (size_ >= capacity_ || half_inverse_[i] == 0.0) return false;
        gram_.require(i, scores);
        const View<const double> row = gram_[i];
        for (Index t = 0; t < size_; ++t) cross_[t] = row[support_[t]];
        return cholesky::append(chol_, size_, cross_, diagonal_[i]) > SPAN;
    }

    // Add the feature staged last to the support.
    void commit(Index i) {
        cholesky::extend_solution(chol_, size_, correlation_[i], rotated_);
        const double pivot = chol_(size_, size_);
        smallest_ = std::min(smallest_, pivot * pivot / diagonal_[i]);
        support_[size_] = i;
        position_[i] = size_;
        ++size_;
    }

    // Remove feature i from the support; barred columns may be tried again.
    void drop(Index i) {
        const Index gone = position_[i];
        cholesky::remove(chol_, size_, gone, rotated_);
        for (Index t = gone; t < size_ - 1; ++t) {
            support_[t] = support_[t + 1];
            position_[support_[t]] = t;
        }
        position_[i] = -1;
        --size_;
        std::fill(barred_.begin(), barred_.end(), false);
    }

    // Compute the coefficients on the support.
    void refit() { cholesky::solve_transposed(chol_, size_, rotated_, coef_); }

    // Compute c - G_S b from the coefficients, without accumulated errors.
    void correlate_residual() {
        gram_.require(View<const Index>(support_).first(size_));
        copy(correlation_, View<double>(residual_));
        subtract_rows(residual_, coef_, gram_, support_, size_);
    }

    // Loss decrease along each single coordinate: residual^2 / (2 G_ii). Zero on the support (the
    // fit is optimal there), for barred columns, and where the decrease is not above ``floor``.
    void single_gains(double floor, View<double> gains) const {
        for (Index i = 0; i < gains.size(); ++i) {
            const double gain = residual_[i] * residual_[i] * half_inverse_[i];
            gains[i] = gain > floor && !barred_[i] ? gain : 0.0;
        }
        for (Index t = 0; t < size_; ++t) gains[support_[t]] = 0.0;
    }

    // Loss increase when the coefficient at place t of the support alone is set to zero.
    double own_cost(Index t) const { return 0.5 * coef_[t] * coef_[t] * diagonal_[support_[t]]; }

    // Twice the loss decrease from zero coefficients: c_S^T b = ||L^{-1} c_S||^2.
    double explained() const {
        double total = 0.0;
        for (Index t = 0; t < size_; ++t) total += rotated_[t] * rotated_[t];
        return total;
    }

  private:
    GramRows &gram_;
    View<const double> diagonal_;
    View<const double> correlation_;
    std::vector<double> half_inverse_;  // 1 / (2 G_ii), zero for a zero column
    Index capacity_;
    OwnMatrix<double> chol_;       // factor of the Gram matrix on the support
    std::vector<double> rotated_;  // L^{-1} c_S
    std::vector<double> coef_;     // in support order
    std::vector<Index> support_;
    Index size_ = 0;
    std::vector<Index> position_;
    std::vector<char> barred_;
    std::vector<double> residual_;
    std::vector<double> cross_;  // scratch
    double smallest_ = 1.0;
};

}  // namespace greedyexp
