// The estimate that a point of a penalised path returns if rounding stops the rounds that lower
// its objective.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "linear_algebra.hpp"

namespace greedyexp {

// Objective and duality gap.
using Certificate = std::pair<double, double>;

// What rounding of products with the Gram matrices G (1 or r, p, p) can hide of the duality gap of
// coefficients (r, p).
//
// No term of b^T G b is larger than the square of sum_i |b_i| G_ii^(1/2). Errors up to 2^-54 of
// that were measured, on data nearly as degenerate as these products can tell.
inline double hidden_gap(Cube<const double> G, Matrix<const double> coef) {
    constexpr double ROUNDING = 0x1p-54;
    double total = 0.0;
    for (Index j = 0; j < coef.rows(); ++j) {
        const Matrix<const double> own = G[std::min(j, G.depth() - 1)];
        double size = 0.0;
        for (Index i = 0; i < coef.columns(); ++i)
            if (coef(j, i) != 0.0) size += std::abs(coef(j, i)) * std::sqrt(own(i, i));
        total += size * size;
    }
    return ROUNDING * total;
}

// The estimate (p, r) of the smallest duality gap.
class KeptEstimate {
  public:
    // Rounds without progress after which a point ends.
    static constexpr Index PATIENCE = 20;

    KeptEstimate(Index p, Index r) : coef_(p, r, 0.0) {}

    Matrix<const double> coef() const { return coef_; }
    double gap() const { return gap_; }
    bool has_stalled() const { return stalled_ >= PATIENCE; }

    // Keep coefficients (r, p).
    void keep(Matrix<const double> coef, Certificate certificate) {
        fill(coef_.view().flat(), 0.0);
        support_ = write_point(coef, coef_);
        std::tie(objective_, gap_) = certificate;
    }

    // Begin a point at lower prices. They lower the objective of the last estimate; its gap is not
    // known.
    void begin() {
        gap_ = lowest_ = UNKNOWN;
        stalled_ = 0;
    }

    // Judge the estimate of a round, and keep it if it is better; return false if its objective has
    // grown by more than ``accuracy``.
    bool judge(Matrix<const double> coef, Certificate certificate, double accuracy) {
        const auto [objective, gap] = certificate;
        const bool fell = objective <= objective_ + accuracy;
        stalled_ = fell && (objective < lowest_ || gap < gap_) ? 0 : stalled_ + 1;
        lowest_ = std::min(lowest_, objective);
        if (fell && gap < gap_) keep(coef, certificate);
        return fell;
    }

    // Write it to a path; return its number of nonzero entries.
    Index write(Matrix<double> coef, double &objective, double &gap) const {
        copy<double>(coef_.view().flat(), coef.flat());
        objective = objective_;
        gap = gap_;
        return support_;
    }

  private:
    static constexpr double UNKNOWN = std::numeric_limits<double>::infinity();

    OwnMatrix<double> coef_;
    Index support_ = 0;
    double objective_ = UNKNOWN;
    double gap_ = UNKNOWN;
    double lowest_ = UNKNOWN;  // objective of the point so far
    Index stalled_ = 0;        // rounds since the last progress
};

}  // namespace greedyexp
