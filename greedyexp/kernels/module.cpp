// The extension module: one submodule for each kernel file.
#include <nanobind/nanobind.h>

#include "sources.hpp"

namespace nb = nanobind;

#define GREEDYEXP_KERNELS(apply)                                                                   \
    apply(chain_moments) apply(chain_pass) apply(cholesky) apply(clipped_lines)                    \
        apply(column_basis) apply(column_sums) apply(coordinate_descent) apply(design_pursuit)     \
            apply(frank_wolfe) apply(gauge_step) apply(gram_fit) apply(gram_rows)                  \
                apply(greedy_dirty) apply(l2_path) apply(linear_algebra) apply(logistic_columns)   \
                    apply(logistic_lines) apply(logistic_newton) apply(max_cut) apply(newton_path) \
                        apply(omp) apply(orthogonal_factor) apply(row_path) apply(row_penalty)     \
                            apply(scalar_losses) apply(ultimate_inner)

#define GREEDYEXP_DECLARE(name) \
    namespace greedyexp::name { \
    void bind(nb::module_ &);   \
    }
#define GREEDYEXP_BIND(name)                            \
    {                                                   \
        nb::module_ part = module.def_submodule(#name); \
        greedyexp::name::bind(part);                    \
    }

GREEDYEXP_KERNELS(GREEDYEXP_DECLARE)

NB_MODULE(GREEDYEXP_MODULE, module) {
    module.attr("SOURCES") = GREEDYEXP_SOURCES;
#if defined(__x86_64__) && !defined(_MSC_VER)
    module.attr("SUPPORTS_AVX2") = __builtin_cpu_supports("avx2") != 0;
#else
    module.attr("SUPPORTS_AVX2") = false;
#endif
    GREEDYEXP_KERNELS(GREEDYEXP_BIND)
}
