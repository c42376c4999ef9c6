// Least squares on a changing set of columns; the contract is in column_basis.py.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "casters.hpp"
#include "cholesky.hpp"
#include "linear_algebra.hpp"

namespace greedyexp::column_basis {
namespace {

// Initial number of columns to allocate; doubled when full.
constexpr Index ROOM = 16;

// Replace a matrix by a larger one that has it in its upper left corner and zeros elsewhere.
void enlarge(OwnMatrix<double> &matrix, Index rows, Index columns) {
    OwnMatrix<double> larger(rows, columns, 0.0);
    for (Index i = 0; i < matrix.rows(); ++i) copy(matrix[i], larger[i].first(matrix.columns()));
    matrix = std::move(larger);
}

class Basis {
  public:
    using Numbers = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

    Basis(View<const double> response, View<const double> correlation, View<const double> powers,
          double edge)
        : samples_(response.size()), edge_(edge), response_(response.begin(), response.end()),
          residual_(response_), correlation_(correlation.begin(), correlation.end()),
          outside_(powers.begin(), powers.end()) {
        widen(ROOM);
    }

    std::vector<double> &correlation() { return correlation_; }
    std::vector<double> &outside() { return outside_; }

    double distance(View<const double> column) {
        std::vector<double> rest(response_.size(), 0.0), parts(slots_.size());
        copy(column, View<double>(rest).first(samples_));
        return project(rest, parts) + edge_ * edge_;
    }

    Index size() const { return length(slots_); }
    Index room() const { return columns_.rows(); }

    // Subtract from each row its projection on the span; there must be no additional entries.
    void project_rows(Matrix<double> columns) const {
        std::vector<double> parts(slots_.size());
        for (Index b = 0; b < columns.rows(); ++b) project(columns[b], parts);
    }

    // The inner products of the staged unit vector with the design, from those of the column less
    // its projection on the first ``size`` vectors.
    Numbers derive(View<const double> products, Index size) const {
        const Index count = length(slots_) - size;
        const View<const double> line = factor_[length(slots_)];
        std::vector<double> out(products.begin(), products.end());
        subtract_rows(View<double>(out), line.from(size), rows_.view().from(size), in_order_,
                      count);
        for (double &entry : out) entry /= line[size + count];
        return to_numpy(std::move(out));
    }

    // The first entries of the unit vector along the part of a column outside the span.
    Numbers stage(View<const double> column) {
        const Index size = length(slots_);
        if (size == columns_.rows()) widen(2 * size);
        slot_ = 0;
        while (std::find(slots_.begin(), slots_.end(), slot_) != slots_.end()) ++slot_;
        const View<double> own = columns_[slot_], vector = vectors_[size];
        fill(own, 0.0);
        copy(column, own.first(samples_));
        if (edge_ != 0.0) own[samples_ + slot_] = edge_;
        copy(own, vector);
        const double norm = std::sqrt(project(vector, factor_[size]));
        factor_(size, size) = norm;
        for (double &entry : vector) entry /= norm;
        return to_numpy(std::vector<double>(vector.begin(), vector.begin() + samples_));
    }

    void take(View<const double> row) {
        const Index size = length(slots_);
        copy(row, rows_[size]);
        const double step = dot(vectors_[size], residual_);
        rotated_[size] = step;
        axpy(-step, vectors_[size], residual_);
        axpy(-step, row, correlation_);
        for (Index j = 0; j < row.size(); ++j) outside_[j] -= row[j] * row[j];
        slots_.push_back(slot_);
    }

    // Plane rotations turn the basis until its last vector is orthogonal to all other columns.
    void drop(Index place) {
        const Index last = length(slots_) - 1;
        for (Index t = place; t < last; ++t)
            copy(factor_[t + 1].first(t + 2), factor_[t].first(t + 2));
        for (Index t = place; t < last; ++t) {
            const double norm = std::hypot(factor_(t, t), factor_(t, t + 1));
            const double cosine = factor_(t, t) / norm, sine = factor_(t, t + 1) / norm;
            const auto turn = [=](double &low, double &high) {
                const double before = low;
                low = cosine * before + sine * high;
                high = cosine * high - sine * before;
            };
            for (Index later = t; later < last; ++later)
                turn(factor_(later, t), factor_(later, t + 1));
            turn(rotated_[t], rotated_[t + 1]);
            rotate(vectors_[t], vectors_[t + 1], cosine, sine);
            rotate(rows_[t], rows_[t + 1], cosine, sine);
        }
        const View<const double> row = rows_[last];
        axpy(rotated_[last], vectors_[last], residual_);
        axpy(rotated_[last], row, correlation_);
        for (Index j = 0; j < row.size(); ++j) outside_[j] += row[j] * row[j];
        slots_.erase(slots_.begin() + place);
    }

    Numbers coefficients() const {
        std::vector<double> out(slots_.size());
        cholesky::solve_transposed(factor_, length(slots_), rotated_, out);
        return to_numpy(std::move(out));
    }

    std::pair<Numbers, double> check(View<const double> coef) {
        copy(response_, View<double>(fresh_));
        subtract_rows(fresh_, coef, columns_, slots_, length(slots_));
        std::vector<double> slopes;
        for (const Index slot : slots_) slopes.push_back(dot(columns_[slot], fresh_));
        return {to_numpy(std::move(slopes)), dot(fresh_, fresh_)};
    }

    Numbers correction() const {
        std::vector<double> out(slots_.size());
        for (Index t = 0; t < length(slots_); ++t) out[t] = dot(vectors_[t], fresh_);
        cholesky::solve_transposed(factor_, length(slots_), out, out);
        return to_numpy(std::move(out));
    }

    Numbers inverse_diagonal() const {
        const Index size = length(slots_);
        std::vector<double> out(size, 0.0);
        const OwnMatrix<double> inverse(size, size, 0.0);
        for (Index i = 0; i < size; ++i) {
            const View<double> line = inverse[i].first(i + 1);
            line[i] = 1.0;
            subtract_rows(line.first(i), factor_[i], inverse, in_order_, i);
            for (Index t = 0; t <= i; ++t) {
                line[t] /= factor_(i, i);
                out[t] += line[t] * line[t];
            }
        }
        return to_numpy(std::move(out));
    }

  private:
    Index samples_;                    // n
    double edge_;                      // additional entry of each column; none if zero
    std::vector<double> response_;     // (l,): n samples, then a zero for each additional entry
    std::vector<double> residual_;     // (l,): the response less its projection
    std::vector<double> fresh_;        // (l,): the residual computed last from the columns
    std::vector<double> correlation_;  // (p,): inner products of ``residual_`` with the design
    std::vector<double> outside_;      // (p,): squared distances of the design from the span
    OwnMatrix<double> columns_;        // (room, l): columns of the support, in any order
    std::vector<Index> slots_;         // row of ``columns_`` of each column of the support
    Index slot_ = 0;                   // that of the column staged last
    OwnMatrix<double> vectors_;        // (room, l): orthonormal rows
    OwnMatrix<double> rows_;           // (room, p): inner products of the vectors with the design
    OwnMatrix<double> factor_;  // (room, room): row t has column t in the basis, in t + 1 entries
    std::vector<double> rotated_;  // (room,): inner products of the vectors with the response
    std::vector<Index> in_order_;  // 0, 1, ...

    static Index length(const std::vector<Index> &vector) {
        return static_cast<Index>(vector.size());
    }

    void widen(Index room) {
        const Index l = samples_ + (edge_ != 0.0 ? room : 0);
        response_.resize(l, 0.0);
        residual_.resize(l, 0.0);
        fresh_.resize(l, 0.0);
        enlarge(columns_, room, l);
        enlarge(vectors_, room, l);
        enlarge(rows_, room, View<const double>(outside_).size());
        enlarge(factor_, room, room);
        rotated_.resize(room, 0.0);
        while (length(in_order_) < room) in_order_.push_back(length(in_order_));
    }

    // Project ``column`` off the span, in place; return the squared length of the rest. Its
    // coordinates in the basis are left in ``place``. The projection is done twice: for a column
    // close to the span, one pass leaves rounding errors as large as the rest.
    double project(View<double> column, View<double> place) const {
        const Index size = length(slots_);
        std::vector<double> parts(size);
        fill(place, 0.0);
        for (int pass = 0; pass < 2; ++pass) {
            for (Index t = 0; t < size; ++t) {
                parts[t] = dot(vectors_[t], column);
                place[t] += parts[t];
            }
            subtract_rows(column, parts, vectors_, in_order_, size);
        }
        return dot(column, column);
    }
};

}  // namespace

void bind(nb::module_ &module) {
    nb::class_<Basis>(module, "Basis")
        .def(nb::init<View<const double>, View<const double>, View<const double>, double>())
        .def_prop_ro("correlation", [](Basis &self) { return shown(self.correlation()); })
        .def_prop_ro("outside", [](Basis &self) { return shown(self.outside()); })
        .def_prop_ro("size", &Basis::size)
        .def_prop_ro("room", &Basis::room)
        .def("distance", &Basis::distance)
        .def("project_rows", &Basis::project_rows)
        .def("derive", &Basis::derive)
        .def("stage", &Basis::stage)
        .def("take", &Basis::take)
        .def("drop", &Basis::drop)
        .def("coefficients", &Basis::coefficients)
        .def("check", &Basis::check)
        .def("correction", &Basis::correction)
        .def("inverse_diagonal", &Basis::inverse_diagonal);
}

}  // namespace greedyexp::column_basis
