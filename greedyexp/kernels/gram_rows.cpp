// The class that Python creates; the contract is in gram_rows.py.
#include "gram_rows.hpp"

#include "casters.hpp"

namespace greedyexp::gram_rows {

// The rows refer to the memory of the design, so it is never converted.
void bind(nb::module_ &module) {
    module.attr("BATCH") = GramRows::BATCH;
    nb::class_<GramRows>(module, "GramRows")
        .def(nb::init<Matrix<const double>, Index>(), nb::arg().noconvert(), nb::arg(),
             nb::keep_alive<1, 2>())
        .def(nb::init<View<const Index>, View<const Index>, View<const double>, Index, Index>());
}

}  // namespace greedyexp::gram_rows
