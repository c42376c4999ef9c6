// Forward-backward and Viterbi over labelled chains; the contract is in chain_pass.py.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "casters.hpp"
#include "linear_algebra.hpp"
#include "scaled_chain.hpp"

namespace greedyexp::chain_pass {
namespace {

using chains::ScaledWeights;
using chains::Weights;

// Logarithm of the sum of exp(value(i)) over i < size.
template <class Function>
double log_sum(Index size, Function value) {
    double top = value(0), total = 0.0;
    for (Index i = 1; i < size; ++i) top = std::max(top, value(i));
    for (Index i = 0; i < size; ++i) total += std::exp(value(i) - top);
    return top + std::log(total);
}

// Multiply by ``factor`` and divide by the sum, which is returned.
double normalise(View<double> values, View<const double> factor) {
    double total = 0.0;
    for (Index j = 0; j < values.size(); ++j) {
        values[j] *= factor[j];
        total += values[j];
    }
    const double inverse = 1.0 / total;
    for (double &value : values) value *= inverse;
    return total;
}

// One chain, the words ``first`` to ``last`` of ``scores``, with logarithms.
class LogChain {
  public:
    LogChain(const Weights &weights, Matrix<const double> scores, Index first, Index last)
        : weights_(weights), r_(weights.states()), words_(last - first), scores_(words_, r_),
          forward_(words_, r_) {
        for (Index t = 0; t < words_; ++t) copy(scores[first + t].first(r_), scores_[t]);
        for (Index j = 0; j < r_; ++j) forward_(0, j) = weights.start[j] + scores_(0, j);
        for (Index t = 1; t < words_; ++t)
            for (Index j = 0; j < r_; ++j)
                forward_(t, j) = log_sum(r_,
                                         [&](Index i) {
                                             return forward_(t - 1, i) + weights.transition(i, j);
                                         }) +
                                 scores_(t, j);
    }

    double log_partition() const {
        return log_sum(r_, [&](Index j) { return forward_(words_ - 1, j) + weights_.end[j]; });
    }

    // Write the probabilities of states from row ``first`` of ``posterior``, and add those of
    // transitions to ``pairs``.
    void add_marginals(Matrix<double> posterior, Index first, Matrix<double> pairs) const {
        const double total = log_partition();
        const Own<double> backward(r_), ahead(r_);
        copy(weights_.end, backward.view());
        for (Index t = words_ - 1;; --t) {
            for (Index j = 0; j < r_; ++j)
                posterior(first + t, j) = std::exp(forward_(t, j) + backward[j] - total);
            if (t == 0) return;
            for (Index j = 0; j < r_; ++j) ahead[j] = scores_(t, j) + backward[j];
            for (Index i = 0; i < r_; ++i) {
                const auto joint = [&](Index j) { return weights_.transition(i, j) + ahead[j]; };
                for (Index j = 0; j < r_; ++j)
                    pairs(i, j) += std::exp(forward_(t - 1, i) + joint(j) - total);
                backward[i] = log_sum(r_, joint);
            }
        }
    }

  private:
    Weights weights_;
    Index r_;
    Index words_;
    OwnMatrix<double> scores_;
    OwnMatrix<double> forward_;  // logarithms of the forward sums
};

double log_partition(Matrix<double> scores, View<const double> start, View<const double> end,
                     Matrix<const double> transition, View<const Index> offsets) {
    const Weights weights{start, end, transition};
    const Index r = weights.states(), width = scores.columns();
    const ScaledWeights own(weights, width);
    const Own<double> state(width), ahead(width);
    double total = 0.0;
    for (Index chain = 0; chain + 1 < offsets.size(); ++chain) {
        const Index first = offsets[chain], last = offsets[chain + 1];
        if (chains::chain_spread(scores, first, last, r) > own.reach) {
            total += LogChain(weights, scores, first, last).log_partition();
            continue;
        }
        double part = own.log_scale(last - first);
        copy(own.begin, ahead.view());
        for (Index t = first; t < last; ++t) {
            if (t > first) multiply_transposed(own.matrix, state, ahead);
            part += chains::exponentiate(scores[t], r);
            part += std::log(normalise(ahead, scores[t]));
            copy(ahead, state.view());
        }
        double remainder = 0.0;
        for (Index j = 0; j < r; ++j) remainder += state[j] * own.finish[j];
        total += part + std::log(remainder);
    }
    return total;
}

double forward_backward(Matrix<double> scores, View<const double> start, View<const double> end,
                        Matrix<const double> transition, View<const Index> offsets,
                        Matrix<double> forward, Matrix<double> posterior, Matrix<double> pairs) {
    const Weights weights{start, end, transition};
    const Index r = weights.states(), width = scores.columns();
    const ScaledWeights own(weights, width);
    const OwnMatrix<double> turned(width, width);
    for (Index i = 0; i < width; ++i)
        for (Index j = 0; j < width; ++j) turned(i, j) = own.matrix(j, i);
    const Own<double> sums(scores.rows()), backward(width);
    double total = 0.0;
    for (Index chain = 0; chain + 1 < offsets.size(); ++chain) {
        const Index first = offsets[chain], last = offsets[chain + 1];
        if (chains::chain_spread(scores, first, last, r) > own.reach) {
            const LogChain with_logarithms(weights, scores, first, last);
            for (Index t = first; t < last; ++t) {
                fill(scores[t], 0.0);
                fill(forward[t], 0.0);
                fill(posterior[t], 0.0);
            }
            with_logarithms.add_marginals(posterior, first, pairs);
            total += with_logarithms.log_partition();
            continue;
        }
        total += own.log_scale(last - first);
        for (Index t = first; t < last; ++t) {
            if (t == first)
                copy(own.begin, forward[t]);
            else
                multiply_transposed(own.matrix, forward[t - 1], forward[t]);
            total += chains::exponentiate(scores[t], r);
            sums[t] = normalise(forward[t], scores[t]);
            total += std::log(sums[t]);
        }
        double remainder = 0.0;
        for (Index j = 0; j < r; ++j) remainder += forward(last - 1, j) * own.finish[j];
        total += std::log(remainder);
        for (Index j = 0; j < width; ++j) backward[j] = own.finish[j] / remainder;
        for (Index t = last - 1; t >= first; --t) {
            const double inverse = 1.0 / sums[t];
            const double *filtered = forward[t].data(), *after = backward.data();
            double *__restrict probability = posterior[t].data();
            double *__restrict factor = scores[t].data();
            for (Index j = 0; j < width; ++j) {
                probability[j] = filtered[j] * after[j];
                factor[j] *= after[j] * inverse;
            }
            if (t > first) multiply_transposed(turned, scores[t], backward);
        }
        fill(scores[first], 0.0);
    }
    return total;
}

void best_sequences(Matrix<const double> scores, View<const double> start, View<const double> end,
                    Matrix<const double> transition, View<const Index> offsets,
                    View<Index> labels) {
    const Index r = start.size();
    const OwnMatrix<std::int32_t> came_from(scores.rows(), r);
    const Own<double> best(r), ahead(r);
    for (Index chain = 0; chain + 1 < offsets.size(); ++chain) {
        const Index first = offsets[chain], last = offsets[chain + 1];
        for (Index j = 0; j < r; ++j) best[j] = start[j] + scores(first, j);
        for (Index t = first + 1; t < last; ++t) {
            for (Index j = 0; j < r; ++j) {
                double top = best[0] + transition(0, j);
                std::int32_t where = 0;
                for (std::int32_t i = 1; i < r; ++i) {
                    const double value = best[i] + transition(i, j);
                    if (value > top) {
                        top = value;
                        where = i;
                    }
                }
                ahead[j] = top + scores(t, j);
                came_from(t, j) = where;
            }
            copy(ahead, best.view());
        }
        for (Index j = 0; j < r; ++j) best[j] += end[j];
        const View<double> all = best;
        Index state = std::max_element(all.begin(), all.end()) - all.begin();
        for (Index t = last - 1; t > first; --t) {
            labels[t] = state;
            state = came_from(t, state);
        }
        labels[first] = state;
    }
}

}  // namespace

void bind(nb::module_ &module) {
    module.attr("GROUP") = chains::GROUP;
    module.def("log_partition", &log_partition);
    module.def("forward_backward", &forward_backward);
    module.def("best_sequences", &best_sequences);
}

}  // namespace greedyexp::chain_pass
