// Sums of columns for Python; the contract is in column_sums.py.
#include "column_sums.hpp"

#include "casters.hpp"

namespace greedyexp::column_sums {

void bind(nb::module_ &module) { module.def("column_sums", &compute); }

}  // namespace greedyexp::column_sums
