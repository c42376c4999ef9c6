// The calls from Python; the contracts are in scalar_losses.py.
#include "scalar_losses.hpp"

#include "casters.hpp"

namespace greedyexp::scalar_losses {

void bind(nb::module_ &module) {
    module.attr("SQUARED") = static_cast<int>(SQUARED);
    module.attr("LOGISTIC") = static_cast<int>(LOGISTIC);
    module.attr("ABSOLUTE") = static_cast<int>(ABSOLUTE);
    module.attr("HINGE") = static_cast<int>(HINGE);
    module.def("slopes", &slopes);
    module.def("total", &total);
}

}  // namespace greedyexp::scalar_losses
