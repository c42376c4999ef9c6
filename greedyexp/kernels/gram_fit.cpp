// The constants that Python reads; see gram_fit.py.
#include "gram_fit.hpp"

#include "casters.hpp"

namespace greedyexp::gram_fit {

void bind(nb::module_ &module) {
    module.attr("SPAN") = SPAN;
    module.attr("GAIN_FLOOR") = GAIN_FLOOR;
}

}  // namespace greedyexp::gram_fit
