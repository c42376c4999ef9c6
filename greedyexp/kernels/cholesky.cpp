// The calls from Python; the contracts are in cholesky.py.
#include "cholesky.hpp"

#include "casters.hpp"

namespace greedyexp::cholesky {

void bind(nb::module_ &module) {
    module.def("append", &append);
    module.def("remove", &remove);
    module.def("extend_solution", &extend_solution);
    module.def("solve", &solve);
    module.def("solve_transposed", &solve_transposed);
}

}  // namespace greedyexp::cholesky
