// The calls from Python; the contracts are in orthogonal_factor.py.
#include "orthogonal_factor.hpp"

#include "casters.hpp"

namespace greedyexp::orthogonal_factor {

void bind(nb::module_ &module) {
    module.def("append", &append);
    module.def("remove", &remove);
    module.def("solve", &solve);
    module.def("solve_transposed", &solve_transposed);
}

}  // namespace greedyexp::orthogonal_factor
