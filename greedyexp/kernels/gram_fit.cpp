// The constants that Python reads, and the check of fits against the data; see gram_fit.py.
#include "gram_fit.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <nanobind/stl/vector.h>

#include "casters.hpp"

namespace greedyexp::gram_fit {
namespace {

using Array = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Line = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Rows that are copied at a time. The columns of a block stay in the cache.
constexpr Index BLOCK = 512;

// The slopes of the tasks from ``first`` on that share a design.
void add_slopes(Matrix<const double> X, const std::vector<Line> &responses,
                View<const Index> entries, View<const double> values,
                const std::vector<std::vector<Index>> &places, Index first, View<double> largest) {
    const auto r = static_cast<Index>(responses.size());
    // Each used feature has a slot in the copy of a block.
    std::vector<Index> slot(X.columns(), -1), features;
    for (Index j = first; j < first + largest.size(); ++j)
        for (const Index at : places[j]) {
            Index &own = slot[entries[at] / r];
            if (own >= 0) continue;
            own = static_cast<Index>(features.size());
            features.push_back(entries[at] / r);
        }
    const auto used = static_cast<Index>(features.size());
    Own<double> copied(used * BLOCK), residual(BLOCK);
    std::vector<double> powers(used, 0.0), sizes(largest.size(), 0.0), slope(entries.size(), 0.0);
    for (Index start = 0; start < X.rows(); start += BLOCK) {
        const Index rows = std::min(BLOCK, X.rows() - start);
        for (Index k = 0; k < rows; ++k)
            for (Index f = 0; f < used; ++f) copied[f * BLOCK + k] = X(start + k, features[f]);
        const auto column = [&](Index f) { return View<const double>(&copied[f * BLOCK], rows); };
        for (Index f = 0; f < used; ++f) powers[f] += dot(column(f), column(f));
        for (Index j = first; j < first + largest.size(); ++j) {
            const View<const double> y(responses[j].data() + start, rows);
            sizes[j - first] += dot(y, y);
            const View<double> rest = residual.view().first(rows);
            std::copy(y.begin(), y.end(), rest.begin());
            for (const Index at : places[j]) axpy(-values[at], column(slot[entries[at] / r]), rest);
            for (const Index at : places[j]) slope[at] += dot(column(slot[entries[at] / r]), rest);
        }
    }
    for (Index j = first; j < first + largest.size(); ++j)
        for (const Index at : places[j]) {
            const double scale = std::sqrt(powers[slot[entries[at] / r]] * sizes[j - first]);
            // A zero column or response has a zero slope. A slope that is not a number is kept.
            const double relative = std::abs(slope[at]) / (scale > 0.0 ? scale : 1.0);
            largest[j - first] = larger_or_nan(relative, largest[j - first]);
        }
}

void slopes(const std::vector<Array> &designs, const std::vector<Line> &responses,
            View<const Index> entries, View<const double> values, View<double> largest) {
    const auto r = static_cast<Index>(responses.size());
    std::vector<std::vector<Index>> places(r);
    for (Index at = 0; at < entries.size(); ++at) places[entries[at] % r].push_back(at);
    const auto count = static_cast<Index>(designs.size()), tasks = count == 1 ? r : 1;
    for (Index d = 0; d < count; ++d) {
        const auto &X = designs[d];
        const Matrix<const double> design(X.data(), static_cast<Index>(X.shape(0)),
                                          static_cast<Index>(X.shape(1)));
        add_slopes(design, responses, entries, values, places, d, largest.from(d).first(tasks));
    }
}

}  // namespace

void bind(nb::module_ &module) {
    module.attr("SPAN") = SPAN;
    module.attr("GAIN_FLOOR") = GAIN_FLOOR;
    module.def("slopes", &slopes);
}

}  // namespace greedyexp::gram_fit
