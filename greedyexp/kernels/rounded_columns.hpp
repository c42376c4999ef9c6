// A design whose columns are also kept with 8 bits a number, to find the columns that may have the
// largest correlation with a vector.
//
// A pass over the copy moves an eighth of the memory that a pass over the design moves, and its
// products are exact integers. The error of a rounded correlation has a bound that holds always
// (Cauchy-Schwarz), so that only the few columns that can still be the largest are correlated in
// double precision.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "arrays.hpp"
#include "column_sums.hpp"
#include "linear_algebra.hpp"

namespace greedyexp {

// A vector with entries of at most ``LIMIT``, in units of ``unit``.
class RoundedVector {
  public:
    // Sums of BLOCK products of such entries and 8-bit entries fit into 32 bits.
    static constexpr Index LIMIT = 16383, BLOCK = 1024;

    RoundedVector(View<const double> vector, Index length) : entries_(length, 0) {
        const double top = largest_size(vector);
        unit_ = top / LIMIT;
        const double inverse = top > 0.0 ? LIMIT / top : 0.0;
        const double *value = vector.data();
        std::int16_t *entry = entries_.data();
        for (Index i = 0; i < vector.size(); ++i)
            entry[i] = static_cast<std::int16_t>(std::nearbyint(value[i] * inverse));
        const double unit = unit_;
        const double lost = sum(vector.size(), [=](Index i) {
            const double left = value[i] - unit * entry[i];
            return left * left;
        });
        norm_ = std::sqrt(dot(vector, vector));
        error_ = std::sqrt(lost);
    }

    const std::int16_t *data() const { return entries_.data(); }
    double unit() const { return unit_; }
    double norm() const { return norm_; }    // of the vector that was rounded
    double error() const { return error_; }  // norm of the difference

  private:
    Own<std::int16_t> entries_;
    double unit_ = 0.0, norm_ = 0.0, error_ = 0.0;
};

class RoundedColumns {
  public:
    explicit RoundedColumns(Matrix<const double> design)
        : design_(design), stride_((design.rows() + PAD - 1) / PAD * PAD),
          entries_(stride_ * design.columns()), units_(design.columns(), 0.0),
          errors_(design.columns(), 0.0), squares_(design.columns(), 0.0),
          columns_(design.columns()) {
        std::vector<double> sums(columns());
        column_sums::compute(design, units_, sums, squares_);
        for (double &unit : units_) unit /= 127.0;
        std::vector<double> inverses;
        for (const double unit : units_) inverses.push_back(unit > 0.0 ? 1.0 / unit : 0.0);
        const Own<std::int8_t> tile(TALL * WIDE);
        for (Index left = 0; left < columns(); left += WIDE)
            for (Index top = 0; top < rows(); top += TALL)
                round(top, left, inverses, tile.view().data());
        for (Index i = 0; i < columns(); ++i) {
            std::fill(entries_.data() + i * stride_ + rows(), entries_.data() + (i + 1) * stride_,
                      std::int8_t{0});
            // The sum of squares has itself a rounding error.
            errors_[i] = std::sqrt(errors_[i]) * (1.0 + 1e-12 * static_cast<double>(rows()));
            norms_.push_back(std::sqrt(squares_[i]));
        }
    }

    Index rows() const { return design_.rows(); }
    Index columns() const { return design_.columns(); }
    double square(Index i) const { return squares_[i]; }

    // A column as a contiguous vector, until the next call. It is copied when it is first needed.
    // If the copies take more memory than the rounded columns, and are not few, all are forgotten.
    View<const double> column(Index i) {
        Own<double> &copied = columns_[i];
        if (copied.size() == 0) {
            if (copies_ >= std::max(columns() / 8, FEW / rows())) {
                for (Own<double> &one : columns_) one = {};
                copies_ = 0;
            }
            copied = Own<double>(rows());
            for (Index k = 0; k < rows(); ++k) copied[k] = design_(k, i);
            ++copies_;
        }
        return copied.view();
    }

    static constexpr std::size_t AT_ONCE = 4;

    // bounds(j, i) >= |x_i^T v_j|, also for the inner product as ``dot`` computes it, of at most
    // AT_ONCE vectors. They share a pass over the copy, since reading takes longer than
    // multiplying.
    void bound(const std::vector<View<const double>> &vectors, Matrix<double> bounds) const {
        GREEDYEXP_REQUIRE(vectors.size() <= AT_ONCE);
        std::vector<RoundedVector> rounded;
        for (const View<const double> &vector : vectors) rounded.emplace_back(vector, stride_);
        switch (rounded.size()) {
            case 1: return bound<1>(rounded, bounds);
            case 2: return bound<2>(rounded, bounds);
            case 3: return bound<3>(rounded, bounds);
            default: return bound<4>(rounded, bounds);
        }
    }

  private:
    static constexpr Index PAD = 32, SIDE = 8, TALL = 512, WIDE = 128;
    static constexpr Index FEW = Index{1} << 23;  // numbers in copies of columns, 64 MB

    template <int COUNT>
    void bound(const std::vector<RoundedVector> &vectors, Matrix<double> bounds) const {
        double scale[COUNT], of_norm[COUNT], of_error[COUNT];
        for (int j = 0; j < COUNT; ++j) {
            const RoundedVector &vector = vectors[j];
            const double rounding = 2.5e-16 * static_cast<double>(rows() + 16);
            scale[j] = vector.unit();
            of_norm[j] = vector.error() + rounding * vector.norm();
            of_error[j] = vector.norm() + vector.error();
        }
        for (Index i = 0; i < columns(); ++i) {
            Index products[COUNT];
            multiply<COUNT>(entries_.data() + i * stride_, vectors, products);
            for (int j = 0; j < COUNT; ++j)
                bounds(j, i) = static_cast<double>(std::abs(products[j])) * (units_[i] * scale[j]) +
                               (norms_[i] * of_norm[j] + errors_[i] * of_error[j]);
        }
    }

    // The inner products of a rounded column with vectors.
    template <int COUNT>
    void multiply(const std::int8_t *column, const std::vector<RoundedVector> &vectors,
                  Index *products) const {
        const std::int16_t *others[COUNT];
        for (int j = 0; j < COUNT; ++j) {
            others[j] = vectors[j].data();
            products[j] = 0;
        }
        for (Index start = 0; start < stride_; start += RoundedVector::BLOCK) {
            const Index size = std::min(RoundedVector::BLOCK, stride_ - start) / PAD * PAD;
            std::int32_t sums[COUNT] = {};
            for (Index k = start; k < start + size; ++k) {
                const auto entry = static_cast<std::int16_t>(column[k]);
                for (int j = 0; j < COUNT; ++j) sums[j] += entry * others[j][k];
            }
            for (int j = 0; j < COUNT; ++j) products[j] += sums[j];
        }
    }

    // Round the tile from row ``top`` and column ``left`` on and write it transposed.
    void round(Index top, Index left, View<const double> inverses, std::int8_t *tile) {
        const Index width = std::min(WIDE, columns() - left), height = std::min(TALL, rows() - top);
        const double *inverse = inverses.data() + left, *unit = units_.data() + left;
        double *__restrict lost = errors_.data() + left;
        for (Index k = 0; k < height; ++k) {
            const double *row = design_[top + k].data() + left;
            std::int8_t *__restrict to = tile + k * WIDE;
            for (Index j = 0; j < width; ++j) {
                // Adding and subtracting this number rounds to the nearest whole number.
                constexpr double shift = 6755399441055744.0;
                const double whole = (row[j] * inverse[j] + shift) - shift;
                to[j] = static_cast<std::int8_t>(static_cast<std::int32_t>(whole));
                const double rest = row[j] - unit[j] * whole;
                lost[j] += rest * rest;
            }
        }
        for (Index j = 0; j < width; j += SIDE)
            for (Index k = 0; k < height; k += SIDE) {
                if (width - j >= SIDE && height - k >= SIDE) {
                    transpose(tile + k * WIDE + j,
                              entries_.data() + (left + j) * stride_ + top + k);
                    continue;
                }
                for (Index jj = j; jj < std::min(j + SIDE, width); ++jj)
                    for (Index kk = k; kk < std::min(k + SIDE, height); ++kk)
                        entries_[(left + jj) * stride_ + top + kk] = tile[kk * WIDE + jj];
            }
    }

    // Transpose a square of 8 x 8 bytes by exchanging bytes, pairs and fours between rows. The
    // masks suppose that the first byte in memory is the lowest.
    static_assert(std::endian::native == std::endian::little);
    void transpose(const std::int8_t *from, std::int8_t *to) const {
        std::uint64_t lines[SIDE];
        for (Index k = 0; k < SIDE; ++k) std::memcpy(lines + k, from + k * WIDE, SIDE);
        constexpr std::uint64_t masks[] = {0x00ff00ff00ff00ff, 0x0000ffff0000ffff,
                                           0x00000000ffffffff};
        for (int level = 0; level < 3; ++level) {
            const Index apart = Index{1} << level, bits = 8 * apart;
            for (Index k = 0; k < SIDE; ++k) {
                if (k & apart) continue;
                std::uint64_t &one = lines[k], &other = lines[k + apart];
                const std::uint64_t moved = ((one >> bits) ^ other) & masks[level];
                other ^= moved;
                one ^= moved << bits;
            }
        }
        for (Index k = 0; k < SIDE; ++k) std::memcpy(to + k * stride_, lines + k, SIDE);
    }

    Matrix<const double> design_;
    Index stride_;
    Own<std::int8_t> entries_;  // the transposed design, each column padded by zeros
    std::vector<double> units_;
    std::vector<double> errors_;  // norms of the parts lost
    std::vector<double> squares_;
    std::vector<double> norms_;
    std::vector<Own<double>> columns_;  // copies of columns
    Index copies_ = 0;
};

}  // namespace greedyexp
