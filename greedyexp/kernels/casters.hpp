// Conversion of numpy arrays to views. Inputs (views of const) are copied if their type or layout
// differs; outputs must be writable arrays in C order, so that the caller sees what is written.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "arrays.hpp"

namespace nb = nanobind;

namespace greedyexp {

// Let Python handle the signals that have arrived; throw what a handler raises, such as
// KeyboardInterrupt. Kernels that may run for seconds call this once in each of their steps.
inline void handle_signals() {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// A numpy array that takes over the memory of a vector.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> to_numpy(std::vector<T> values) {
    auto *kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept,
                      [](void *vector) noexcept { delete static_cast<std::vector<T> *>(vector); });
    return {kept->data(), {kept->size()}, owner};
}

// A numpy array that shows the memory of a bound object, for a property of its class.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> shown(std::vector<T> &values) {
    return {values.data(), {values.size()}};
}

}  // namespace greedyexp

namespace nanobind::detail {

template <class T, std::size_t dimensions>
struct array_caster {
    using Array = ndarray<T, ndim<dimensions>, c_contig, device::cpu>;
    make_caster<Array> array;

    bool load(handle source, std::uint8_t flags, cleanup_list *cleanup) noexcept {
        if constexpr (!std::is_const_v<T>) flags &= ~static_cast<std::uint8_t>(cast_flags::convert);
        return array.from_python(source, flags, cleanup);
    }
    T *data() { return array.value.data(); }
    greedyexp::Index shape(std::size_t k) {
        return static_cast<greedyexp::Index>(array.value.shape(k));
    }
};

#define GREEDYEXP_CASTER(View, dimensions, ...)                                               \
    template <class T>                                                                        \
    struct type_caster<View<T>> : array_caster<T, dimensions> {                               \
        using Value = View<T>;                                                                \
        static constexpr auto Name =                                                          \
            make_caster<typename array_caster<T, dimensions>::Array>::Name;                   \
        template <class U>                                                                    \
        using Cast = Value;                                                                   \
        template <class U>                                                                    \
        static constexpr bool can_cast() {                                                    \
            return true;                                                                      \
        }                                                                                     \
        bool from_python(handle source, std::uint8_t flags, cleanup_list *cleanup) noexcept { \
            return this->load(source, flags, cleanup);                                        \
        }                                                                                     \
        operator Value() { return Value(this->data(), __VA_ARGS__); }                         \
    };

GREEDYEXP_CASTER(greedyexp::View, 1, this->shape(0))
GREEDYEXP_CASTER(greedyexp::Matrix, 2, this->shape(0), this->shape(1))
GREEDYEXP_CASTER(greedyexp::Cube, 3, this->shape(0), this->shape(1), this->shape(2))

#undef GREEDYEXP_CASTER

}  // namespace nanobind::detail
