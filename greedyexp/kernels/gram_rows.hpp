// The rows of a Gram matrix G = X^T X / n, from the matrix itself or from the design X.
//
// A design with many features has a Gram matrix larger than itself, of which a greedy method reads
// few rows. These are computed when they are needed. One row takes a pass over the design, which is
// limited by memory; eight rows in one pass cost less than half of eight passes. Every entry is one
// sum in the order of the samples, so it has the same bits whichever rows are computed together. A
// row of a sparse design takes a pass over the samples in which its feature is not zero.
#pragma once

#include <algorithm>
#include <vector>

#include "linear_algebra.hpp"

namespace greedyexp {

inline std::vector<double> diagonal_of(Matrix<const double> matrix) {
    std::vector<double> out(matrix.rows());
    for (Index i = 0; i < matrix.rows(); ++i) out[i] = matrix(i, i);
    return out;
}

class GramRows {
  public:
    // Rows computed in one pass over the design.
    static constexpr Index BATCH = 8;

    explicit GramRows(Matrix<const double> gram) : diagonal_(diagonal_of(gram)) {
        rows_.reserve(gram.rows());
        for (Index i = 0; i < gram.rows(); ++i) rows_.push_back(gram[i].data());
    }

    // Rows from a design (n, p), of which at most ``most`` are kept at a time.
    GramRows(Matrix<const double> design, Index most)
        : design_(design), most_(most), diagonal_(design.columns(), 0.0),
          rows_(design.columns(), nullptr) {
        add_squares(design, diagonal_);
        for (double &square : diagonal_) square /= samples();
    }

    // Rows from a sparse design (n, p): the features and values of each sample.
    GramRows(View<const Index> starts, View<const Index> features, View<const double> values,
             Index p, Index most)
        : most_(most), diagonal_(p, 0.0), rows_(p, nullptr), by_sample_(starts, features, values),
          by_feature_(by_sample_.transposed(p)) {
        for (Index k = 0; k < values.size(); ++k)
            diagonal_[features[k]] += values[k] * values[k] / samples();
    }

    // The rows are pointers into the memory of this object.
    GramRows(const GramRows &) = delete;
    GramRows(GramRows &&) = default;

    Index size() const { return static_cast<Index>(rows_.size()); }
    const std::vector<double> &diagonal() const { return diagonal_; }
    bool has(Index i) const { return rows_[i] != nullptr; }
    // Row i, which must be present.
    View<const double> operator[](Index i) const {
        GREEDYEXP_REQUIRE(0 <= i && i < size() && rows_[i] != nullptr);
        return {rows_[i], size()};
    }

    // out <- row i, which must be present unless the design is sparse.
    void copy_row(Index i, View<double> out) const {
        if (has(i))
            copy((*this)[i], out);
        else
            write_sparse_row(i, out);
    }

    // Make the rows of these features present; any others may be forgotten.
    void require(View<const Index> features) {
        absent_.clear();
        for (const Index i : features)
            if (!has(i)) absent_.push_back(i);
        compute(features);
    }

    // Make row i present and, if it was absent, the rows of the largest ``scores`` > 0, if any.
    void require(Index i, View<const double> scores) {
        if (has(i)) return;
        absent_.assign(1, i);
        const auto larger = [=](Index one, Index other) { return scores[one] > scores[other]; };
        for (Index k = 0; k < scores.size(); ++k) {
            if (k == i || has(k) || scores[k] <= 0.0) continue;
            const bool full = length(absent_) == BATCH;
            if (full && scores[k] <= scores[absent_.back()]) continue;
            if (full) absent_.pop_back();
            absent_.insert(std::upper_bound(absent_.begin() + 1, absent_.end(), k, larger), k);
        }
        compute(View<const Index>(&i, 1));
    }

  private:
    template <class T>
    static Index length(const std::vector<T> &list) {
        return static_cast<Index>(list.size());
    }
    bool is_sparse() const { return !by_sample_.starts.empty(); }
    double samples() const {
        return static_cast<double>(is_sparse() ? length(by_sample_.starts) - 1 : design_.rows());
    }

    // The entries of a sparse matrix, row by row.
    struct Compressed {
        std::vector<Index> starts, places;
        std::vector<double> values;

        Compressed() = default;
        Compressed(View<const Index> starts, View<const Index> places, View<const double> values)
            : starts(starts.begin(), starts.end()), places(places.begin(), places.end()),
              values(values.begin(), values.end()) {}

        Compressed transposed(Index columns) const {
            Compressed out;
            out.starts.assign(columns + 1, 0);
            out.places.resize(places.size());
            out.values.resize(values.size());
            for (const Index place : places) ++out.starts[place + 1];
            for (Index j = 0; j < columns; ++j) out.starts[j + 1] += out.starts[j];
            std::vector<Index> next(out.starts.begin(), out.starts.end() - 1);
            for (Index i = 0; i + 1 < length(starts); ++i)
                for (Index k = starts[i]; k < starts[i + 1]; ++k) {
                    const Index at = next[places[k]]++;
                    out.places[at] = i;
                    out.values[at] = values[k];
                }
            return out;
        }
    };

    void write_sparse_row(Index i, View<double> out) const {
        fill(out, 0.0);
        for (Index t = by_feature_.starts[i]; t < by_feature_.starts[i + 1]; ++t) {
            const Index sample = by_feature_.places[t];
            const double value = by_feature_.values[t];
            for (Index k = by_sample_.starts[sample]; k < by_sample_.starts[sample + 1]; ++k)
                out[by_sample_.places[k]] += value * by_sample_.values[k];
        }
        for (double &entry : out) entry /= samples();
    }

    // Compute the absent rows. If there is no room, forget all but the required ones.
    void compute(View<const Index> required) {
        if (absent_.empty()) return;
        if (kept_ + length(absent_) > most_) {
            std::fill(rows_.begin(), rows_.end(), nullptr);
            blocks_.clear();
            kept_ = 0;
            absent_.assign(required.begin(), required.end());
        }
        for (Index first = 0; first < length(absent_); first += BATCH) {
            const Index count = std::min(BATCH, length(absent_) - first);
            blocks_.emplace_back(count, size());
            const Matrix<double> block = blocks_.back();
            for (Index b = 0; b < count; ++b) rows_[absent_[first + b]] = block[b].data();
            if (is_sparse()) {
                for (Index b = 0; b < count; ++b) write_sparse_row(absent_[first + b], block[b]);
                continue;
            }
            const OwnMatrix<double> columns(count, design_.rows());
            for (Index k = 0; k < design_.rows(); ++k)
                for (Index b = 0; b < count; ++b) columns(b, k) = design_(k, absent_[first + b]);
            multiply(columns, design_, block);
            for (double &entry : block.flat()) entry /= samples();
        }
        kept_ += length(absent_);
    }

    Matrix<const double> design_;
    Index most_ = 0;
    Index kept_ = 0;
    std::vector<double> diagonal_;
    std::vector<const double *> rows_;       // null for an absent row
    std::vector<OwnMatrix<double>> blocks_;  // memory of the rows computed
    std::vector<Index> absent_;              // scratch
    Compressed by_sample_, by_feature_;      // a sparse design
};

}  // namespace greedyexp
