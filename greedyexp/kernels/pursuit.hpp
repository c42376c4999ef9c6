// What the two forms of orthogonal matching pursuit share: options, the steps, and what they write.
#pragma once

#include <algorithm>
#include <tuple>

#include "arrays.hpp"
#include "casters.hpp"

namespace greedyexp {

struct PursuitOptions {
    bool normalize;  // score by the loss decrease, not by the squared correlation
    bool refit;      // score by the loss decrease after a refit; requires ``normalize``
};

// The fits after each of the counts, which belong to the caller.
struct PursuitFits {
    Cube<double> coef;
    View<double> loss;
    View<Index> sizes;

    // Write the coefficients of task j on a support, and add the loss of the task.
    void write(Index k, Index j, View<const Index> support, View<const double> values,
               double loss_of_task) const {
        const Matrix<double> point = coef[k];
        for (Index t = 0; t < values.size(); ++t) {
            point(support[t], j) = values[t];
            sizes[k] += values[t] != 0.0;
        }
        loss[k] += loss_of_task;
    }
};

// What is known of all pursuits together.
struct PursuitSummary {
    Index reached = 0;      // largest number of features
    Index skipped = 0;      // entries left out because they lie in the span of their support
    double smallest = 1.0;  // smallest squared sine of an added column

    // Add features until no feature gains; call ``write(k)`` when the count k is reached, or the
    // end before it.
    template <class Pursuit, class Write>
    void follow(Pursuit &pursuit, View<const Index> counts, Write write) {
        Index taken = 0;
        bool ended = false;
        for (Index k = 0; k < counts.size();) {
            if (taken == counts[k] || ended) {
                write(k++);
                continue;
            }
            handle_signals();
            const Index i = pursuit.best_feature();
            if (i < 0) {
                ended = true;
                continue;
            }
            const Index barred = pursuit.add_feature(i);
            skipped += barred;
            taken += barred == 0;
        }
        reached = std::max(reached, taken);
        smallest = std::min(smallest, pursuit.smallest());
    }

    std::tuple<Index, Index, double> as_tuple() const { return {reached, skipped, smallest}; }
};

}  // namespace greedyexp
