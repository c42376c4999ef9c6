// The calls from Python; the contract is in logistic_columns.py.
#include "logistic_columns.hpp"

#include "casters.hpp"

namespace greedyexp::logistic_columns {

void bind(nb::module_ &module) {
    nb::class_<Columns>(module, "Columns")
        .def(nb::init<Matrix<const double>, View<const double>>())
        .def(nb::init<View<const Index>, View<const Index>, View<const double>, View<const double>,
                      View<const double>>())
        .def("reaches", &Columns::reaches)
        .def("powers", &Columns::powers);
}

}  // namespace greedyexp::logistic_columns
