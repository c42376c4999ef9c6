// The calls from Python; the contracts are in linear_algebra.py.
#include "linear_algebra.hpp"

#include "casters.hpp"

namespace greedyexp::linear_algebra {

void bind(nb::module_ &module) {
    module.def("subtract_rows", &subtract_rows<Matrix<const double>>);
    module.def("multiply_transposed", &multiply_transposed);
}

}  // namespace greedyexp::linear_algebra
