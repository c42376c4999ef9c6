// The calls from the tests; the contracts are in row_penalty.hpp.
#include "row_penalty.hpp"

#include "casters.hpp"

namespace greedyexp::row_penalty {

void bind(nb::module_ &module) {
    module.attr("ZERO") = ZERO;
    module.attr("UPPER") = UPPER;
    module.attr("TIED") = TIED;
    module.attr("LOWER") = LOWER;
    module.def("minimise", &minimise);
    module.def("cross", &cross);
    module.def("gauges", &gauges);
    module.def("certificate", &certificate);
}

}  // namespace greedyexp::row_penalty
