// Signed columns: the columns of a design times labels -1 and 1, each contiguous in memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "linear_algebra.hpp"
#include "weighted_gram.hpp"

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
    // ``places``. ``means`` are subtracted from the columns, and are empty if there is none.
    Columns(View<const Index> starts, View<const Index> places, View<const double> values,
            View<const double> signs, View<const double> means)
        : count_(starts.size() - 1), starts_(starts.begin(), starts.end()),
          places_(places.begin(), places.end()), values_(values.begin(), values.end()),
          signs_(signs.begin(), signs.end()), means_(means.begin(), means.end()) {
        for (Index t = 0; t < values.size(); ++t) values_[t] *= signs[places[t]];
        Index widest = means.size() ? signs.size() : 0;
        for (Index j = 0; j < count_; ++j) widest = std::max(widest, stored(j).size());
        scratch_.resize(widest);
    }

    Index count() const { return count_; }

    // Column j and the margins of its samples, valid until the next call. The zeros of a sparse
    // column are left out. Without them it would not be centred, so a centred one is filled.
    Line line(Index j, View<const double> margins) {
        const View<const double> z = stored(j);
        if (starts_.empty()) return {z, margins};
        if (!means_.empty()) {
            for (Index i = 0; i < samples(); ++i) scratch_[i] = -means_[j] * signs_[i];
            for (Index t = 0; t < z.size(); ++t) scratch_[places_[starts_[j] + t]] += z[t];
            return {View<const double>(scratch_).first(samples()), margins};
        }
        for (Index t = 0; t < z.size(); ++t) scratch_[t] = margins[places_[starts_[j] + t]];
        return {z, View<const double>(scratch_).first(z.size())};
    }

    // The inner product of the labels with ``weights``, which centred sparse columns need.
    double signed_sum(View<const double> weights) const {
        return means_.empty() ? 0.0 : greedyexp::dot(signs_, weights);
    }

    // The inner product of column j with ``weights``, whose ``signed_sum`` is given.
    double dot(Index j, View<const double> weights, double signed_sum) const {
        const View<const double> z = stored(j);
        if (starts_.empty()) return greedyexp::dot(z, weights);
        const double *value = z.data(), *weight = weights.data();
        const Index *place = places_.data() + starts_[j];
        const double total = sum(z.size(), [=](Index t) { return value[t] * weight[place[t]]; });
        return means_.empty() ? total : total - means_[j] * signed_sum;
    }

    // out += sum_t scales_t times column indices_t; larger indices than ``count`` are left out.
    void add(const std::vector<Index> &indices, View<const double> scales, View<double> out) const {
        const Index size = static_cast<Index>(
            std::find_if(indices.begin(), indices.end(), [this](Index j) { return j >= count_; }) -
            indices.begin());
        if (starts_.empty()) {
            const Own<double> negative(size);
            for (Index t = 0; t < size; ++t) negative[t] = -scales[t];
            subtract_rows(out, negative, dense_, View<const Index>(indices.data(), size), size);
            return;
        }
        double shift = 0.0;
        for (Index t = 0; t < size; ++t) {
            const View<const double> z = stored(indices[t]);
            for (Index i = 0; i < z.size(); ++i)
                out[places_[starts_[indices[t]] + i]] += scales[t] * z[i];
            if (!means_.empty()) shift += scales[t] * means_[indices[t]];
        }
        if (shift != 0.0) axpy(-shift, signs_, out);
    }

    // out(s, t) <- the inner product, with ``weights``, of two of the columns ``indices``, of which
    // those from ``count`` on are rows of ``others``.
    void weighted_gram(const std::vector<Index> &indices, Matrix<const double> others,
                       View<const double> weights, Matrix<double> out) const {
        if (starts_.empty()) {
            std::vector<View<const double>> rows;
            for (const Index j : indices)
                rows.push_back(j < count_ ? View<const double>(dense_[j]) : others[j - count_]);
            greedyexp::weighted_gram(rows, weights, out);
            return;
        }
        const Own<double> weighted(weights.size());
        for (Index s = 0; s < out.rows(); ++s) {
            const Index i = indices[s];
            fill(weighted.view(), 0.0);
            if (i < count_) {
                const Own<double> one(1, 1.0);
                add({i}, one, weighted);
            } else {
                copy(others[i - count_], weighted.view());
            }
            for (Index k = 0; k < weights.size(); ++k) weighted[k] *= weights[k];
            const double shift = signed_sum(weighted);
            for (Index t = 0; t <= s; ++t) {
                const Index j = indices[t];
                out(s, t) = out(t, s) = j < count_ ? dot(j, weighted, shift)
                                                   : greedyexp::dot(others[j - count_], weighted);
            }
        }
    }

    // out_j <- the largest absolute value of column j.
    void reaches(View<double> out) const {
        for (Index j = 0; j < count_; ++j) {
            const View<const double> z = stored(j);
            if (means_.empty()) {
                const auto [low, high] = reach_of(z);
                out[j] = std::max(high, -low);
                continue;
            }
            out[j] = z.size() < samples() ? std::abs(means_[j]) : 0.0;
            for (Index t = 0; t < z.size(); ++t)
                out[j] = std::max(out[j], std::abs(z[t] - shift(j, t)));
        }
    }

    // out_j <- sum_i weights_i z_ij^2.
    void powers(View<const double> weights, View<double> out) const {
        const double *weight = weights.data();
        const double all =
            means_.empty() ? 0.0 : sum(weights.size(), [=](Index i) { return weight[i]; });
        for (Index j = 0; j < count_; ++j) {
            const View<const double> column = stored(j);
            const double *z = column.data();
            if (starts_.empty()) {
                out[j] = sum(column.size(), [=](Index i) { return weight[i] * z[i] * z[i]; });
                continue;
            }
            const Index *place = places_.data() + starts_[j];
            if (means_.empty()) {
                out[j] =
                    sum(column.size(), [=](Index t) { return weight[place[t]] * z[t] * z[t]; });
                continue;
            }
            out[j] = sum(column.size(), [=, this](Index t) {
                const double apart = z[t] - shift(j, t);
                return weight[place[t]] * apart * apart;
            });
            if (column.size() < samples()) {
                const double own = sum(column.size(), [=](Index t) { return weight[place[t]]; });
                out[j] += std::max(all - own, 0.0) * means_[j] * means_[j];
            }
        }
    }

  private:
    Index samples() const { return static_cast<Index>(signs_.size()); }

    // The stored values of column j, without the zeros of a sparse column.
    View<const double> stored(Index j) const {
        if (starts_.empty()) return dense_[j];
        return View<const double>(values_).first(starts_[j + 1]).from(starts_[j]);
    }

    // What is subtracted from the stored value t of a sparse column j.
    double shift(Index j, Index t) const { return means_[j] * signs_[places_[starts_[j] + t]]; }

    Index count_;
    OwnMatrix<double> dense_;    // (p, n), if dense
    std::vector<Index> starts_;  // (p + 1,), if sparse
    std::vector<Index> places_;  // samples of the values
    std::vector<double> values_;
    std::vector<double> signs_;    // of the samples, if sparse
    std::vector<double> means_;    // subtracted from the columns, if sparse and centred
    std::vector<double> scratch_;  // one centred column, or the margins of the samples of a column
};

}  // namespace greedyexp::logistic_columns
