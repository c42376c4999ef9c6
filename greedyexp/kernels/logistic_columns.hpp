// Signed columns: the columns of a design times labels -1 and 1, each contiguous in memory.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "linear_algebra.hpp"

namespace greedyexp::logistic_columns {

// Smallest and largest entry, zero included.
inline std::pair<double, double> reach_of(View<const double> z) {
    double low = 0.0, high = 0.0;
    for (const double value : z) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
    return {low, high};
}

// Values of a column and the margins of their samples.
struct Line {
    View<const double> z;
    View<const double> margins;
};

class Columns {
  public:
    // Of a dense design (n, p).
    Columns(Matrix<const double> design, View<const double> signs)
        : count_(design.columns()), dense_(design.columns(), design.rows()) {
        // Samples and features of a block that fits in the processor's cache.
        constexpr Index block = 32;
        const Index n = design.rows(), p = design.columns();
        for (Index first = 0; first < n; first += block)
            for (Index left = 0; left < p; left += block)
                for (Index i = first; i < std::min(first + block, n); ++i)
                    for (Index j = left; j < std::min(left + block, p); ++j)
                        dense_(j, i) = signs[i] * design(i, j);
    }

    // Of a sparse design: column j has the values from starts[j] to starts[j + 1], of the samples
    // ``places``.
    Columns(View<const Index> starts, View<const Index> places, View<const double> values,
            View<const double> signs)
        : count_(starts.size() - 1), starts_(starts.begin(), starts.end()),
          places_(places.begin(), places.end()), values_(values.begin(), values.end()) {
        for (Index t = 0; t < values.size(); ++t) values_[t] *= signs[places[t]];
        Index widest = 0;
        for (Index j = 0; j < count_; ++j) widest = std::max(widest, this->values(j).size());
        scratch_.resize(widest);
    }

    Index count() const { return count_; }

    // The values of column j, without the zeros of a sparse column.
    View<const double> values(Index j) const {
        if (starts_.empty()) return dense_[j];
        return View<const double>(values_).first(starts_[j + 1]).from(starts_[j]);
    }

    // Column j and the margins of its samples, valid until the next call.
    Line line(Index j, View<const double> margins) {
        const View<const double> z = values(j);
        if (starts_.empty()) return {z, margins};
        for (Index t = 0; t < z.size(); ++t) scratch_[t] = margins[places_[starts_[j] + t]];
        return {z, View<const double>(scratch_).first(z.size())};
    }

    // out_j <- the largest absolute value of column j.
    void reaches(View<double> out) const {
        for (Index j = 0; j < count_; ++j) {
            const auto [low, high] = reach_of(values(j));
            out[j] = std::max(high, -low);
        }
    }

    // out_j <- sum_i weights_i z_ij^2.
    void powers(View<const double> weights, View<double> out) const {
        const double *weight = weights.data();
        for (Index j = 0; j < count_; ++j) {
            const View<const double> column = values(j);
            const double *z = column.data();
            if (starts_.empty()) {
                out[j] = sum(column.size(), [=](Index i) { return weight[i] * z[i] * z[i]; });
            } else {
                const Index *place = places_.data() + starts_[j];
                out[j] =
                    sum(column.size(), [=](Index t) { return weight[place[t]] * z[t] * z[t]; });
            }
        }
    }

  private:
    Index count_;
    OwnMatrix<double> dense_;    // (p, n), if dense
    std::vector<Index> starts_;  // (p + 1,), if sparse
    std::vector<Index> places_;  // samples of the values
    std::vector<double> values_;
    std::vector<double> scratch_;  // margins of the samples of one column
};

}  // namespace greedyexp::logistic_columns
