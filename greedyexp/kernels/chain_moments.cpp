// Changes of the log partition functions of chains; the contract is in chain_moments.py.
//
// The sum over t of x_t [y_t = k] has, given the state of the current word, a mean and a second
// moment that follow the forward recursion. One forward pass therefore gives the partition function
// of a chain and its first two derivatives with respect to one coefficient. Moments are taken
// around a moving centre, which preserves digits in long chains.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "casters.hpp"
#include "linear_algebra.hpp"
#include "scaled_chain.hpp"

namespace greedyexp::chain_moments {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

constexpr int MOST_STEPS = 200;
// While one side is unbounded, a step changes no exponent by more than its present size and this.
constexpr double STRIDE = 8.0;

// A sum of x_t over the words t in one state.
struct Count {
    View<const double> x;
    Index state;
};

// log Z up to a constant, mean and variance of a count.
struct Moments {
    double total = 0.0;
    double mean = 0.0;
    double variance = 0.0;
};

// The mixture of distributions with weights exp(weights): log of the sum of the weights, mean and
// variance. ``weights`` are overwritten.
Moments mixture(View<double> weights, View<const double> means, View<const double> variances) {
    const double top = chains::largest_of(weights);
    double mass = 0.0, mean = 0.0, variance = 0.0;
    for (double &weight : weights) {
        weight = std::exp(weight - top);
        mass += weight;
    }
    for (Index i = 0; i < weights.size(); ++i) {
        weights[i] /= mass;
        mean += weights[i] * means[i];
    }
    for (Index i = 0; i < weights.size(); ++i) {
        const double away = means[i] - mean;
        variance += weights[i] * (variances[i] + away * away);
    }
    return {top + std::log(mass), mean, variance};
}

// Newton's step, limited to a stride; the middle of the bracket if it leaves the bracket.
double next_step(double step, double slope, double curvature, double low, double high,
                 double largest) {
    const double stride = (STRIDE + std::abs(step) * largest) / largest;
    double move = slope > 0.0 ? -stride : stride;
    if (curvature * stride > std::abs(slope)) move = -slope / curvature;
    const double following = step + move;
    if (following == step || (low < following && following < high)) return following;
    return 0.5 * (low + high);
}

// Chains under fixed parameters, for changes of single coefficients.
class Chains {
  public:
    Chains(Matrix<const double> scores, View<const double> start, View<const double> end,
           Matrix<const double> transition, View<const Index> offsets)
        : r_(start.size()), width_(scores.columns()), start_(start.begin(), start.end()),
          end_(end.begin(), end.end()), transition_(r_, r_),
          offsets_(offsets.begin(), offsets.end()), scores_(scores.rows(), width_),
          factors_(scores.rows(), width_), scaled_({start, end, transition}, width_) {
        copy(transition.flat(), transition_.view().flat());
        for (Index t = 0; t < scores.rows(); ++t) {
            copy(scores[t], scores_[t]);
            copy(scores[t], factors_[t]);
            chains::exponentiate(factors_[t], r_);
        }
        for (Index chain = 0; chain < count(); ++chain)
            spreads_.push_back(chains::chain_spread(scores, first(chain), last(chain), r_));
    }

    std::tuple<double, double, double> moments_of(View<const double> column, Index state,
                                                  double step) const {
        const std::vector<Index> touched = chains_with(column);
        const Moments all = moments(touched, {column, state}, step);
        return {all.total, all.mean, all.variance};
    }

    void minima_of_feature(View<const double> column, View<const double> observed,
                           View<const double> present, double ridge, double tolerance,
                           View<double> steps, View<double> gains) const {
        const std::vector<Index> touched = chains_with(column);
        const double largest = std::max(largest_size(column), 1e-300);
        for (Index k = 0; k < observed.size(); ++k) {
            handle_signals();
            const Count own{column, k};
            double low = -INFINITE, high = INFINITE, step = 0.0, lost = 0.0;
            const Moments base = moments(touched, own, 0.0);
            Moments here = base;
            for (int round = 0; round < MOST_STEPS; ++round) {
                const double slope = here.mean - observed[k] + ridge * (present[k] + step);
                lost = here.total - base.total - step * observed[k];
                lost += ridge * step * (present[k] + 0.5 * step);
                if (std::abs(slope) <= tolerance) break;
                (slope < 0.0 ? low : high) = step;
                const double following =
                    next_step(step, slope, here.variance + ridge, low, high, largest);
                if (following == step) break;
                step = following;
                here = moments(touched, own, step);
            }
            steps[k] = step;
            gains[k] = std::max(-lost, 0.0);
        }
    }

    // The forward recursions of all changes run side by side: each step of one waits for its
    // previous step, and the processor uses the time for the others.
    void changes(Matrix<const double> columns, View<const Index> features, View<const Index> states,
                 View<const double> steps, View<double> out) const {
        const Index m = steps.size();
        // The unchanged chain has number m.
        const OwnMatrix<double> probabilities(m + 1, width_);
        const Own<double> logs(m + 1), ahead(width_);
        for (Index chain = 0; chain < count(); ++chain) {
            handle_signals();
            double largest = 0.0;
            for (Index t = first(chain); t < last(chain); ++t)
                for (Index c = 0; c < m; ++c)
                    largest = std::max(largest, std::abs(steps[c] * columns(t, features[c])));
            if (spreads_[chain] + largest > scaled_.reach) {
                add_one_by_one(chain, columns, features, states, steps, out);
                continue;
            }
            fill(logs.view(), 0.0);
            for (Index t = first(chain); t < last(chain); ++t)
                for (Index c = 0; c <= m; ++c) {
                    const View<double> own = probabilities[c];
                    if (t > first(chain))
                        multiply_transposed(scaled_.matrix, own, ahead);
                    else
                        copy(scaled_.begin, ahead.view());
                    if (c < m) {
                        const double x = columns(t, features[c]);
                        if (x != 0.0) ahead[states[c]] *= std::exp(steps[c] * x);
                    }
                    const double *factor = factors_[t].data(), *after = ahead.data();
                    double *__restrict now = own.data();
                    double mass = 0.0;
                    for (Index j = 0; j < width_; ++j) {
                        now[j] = after[j] * factor[j];
                        mass += now[j];
                    }
                    const double inverse = 1.0 / mass;
                    for (Index j = 0; j < width_; ++j) now[j] *= inverse;
                    logs[c] += std::log(mass);
                }
            for (Index c = 0; c <= m; ++c)
                logs[c] += std::log(dot(probabilities[c], scaled_.finish));
            for (Index c = 0; c < m; ++c) out[c] += logs[c] - logs[m];
        }
    }

  private:
    Index count() const { return static_cast<Index>(offsets_.size()) - 1; }
    Index first(Index chain) const { return offsets_[chain]; }
    Index last(Index chain) const { return offsets_[chain + 1]; }

    // The chains where a column has a nonzero value.
    std::vector<Index> chains_with(View<const double> column) const {
        std::vector<Index> touched;
        for (Index chain = 0; chain < count(); ++chain)
            if (std::any_of(column.begin() + first(chain), column.begin() + last(chain),
                            [](double x) { return x != 0.0; }))
                touched.push_back(chain);
        return touched;
    }

    // The sum over some chains, after ``step`` is added to the coefficient of the count.
    Moments moments(View<const Index> touched, const Count &own, double step) const {
        Moments all;
        for (const Index chain : touched) {
            double change = 0.0;
            if (step != 0.0)
                for (Index t = first(chain); t < last(chain); ++t)
                    change = std::max(change, std::abs(step * own.x[t]));
            const bool far = spreads_[chain] + change > scaled_.reach;
            const Moments part =
                far ? log_moments(chain, own, step) : scaled_moments(chain, own, step);
            all.total += part.total;
            all.mean += part.mean;
            all.variance += part.variance;
        }
        return all;
    }

    // The moments of one chain. ``p`` are the filtered probabilities; ``d`` and ``e`` are their
    // products with the mean and the second moment of the count so far, around ``centre``.
    Moments scaled_moments(Index chain, const Count &own, double step) const {
        const OwnMatrix<double> room(6, width_, 0.0);
        View<double> p = room[0], d = room[1], e = room[2];
        View<double> p_next = room[3], d_next = room[4], e_next = room[5];
        copy(scaled_.begin, p);
        double total = 0.0, centre = 0.0;
        for (Index t = first(chain); t < last(chain); ++t) {
            if (t > first(chain)) {
                multiply_transposed(scaled_.matrix, p, p_next);
                multiply_transposed(scaled_.matrix, d, d_next);
                multiply_transposed(scaled_.matrix, e, e_next);
                std::swap(p, p_next);
                std::swap(d, d_next);
                std::swap(e, e_next);
            }
            multiply_by(p, factors_[t]);
            multiply_by(d, factors_[t]);
            multiply_by(e, factors_[t]);
            const double x = own.x[t];
            if (x != 0.0) {
                const Index k = own.state;
                const double tilt = std::exp(step * x);
                e[k] = tilt * (e[k] + x * (2.0 * d[k] + x * p[k]));
                d[k] = tilt * (d[k] + x * p[k]);
                p[k] = tilt * p[k];
            }
            double mass = 0.0, shift = 0.0;
            for (Index j = 0; j < width_; ++j) {
                mass += p[j];
                shift += d[j];
            }
            shift /= mass;
            total += std::log(mass);
            centre += shift;
            move_centre(p, d, e, 1.0 / mass, shift);
        }
        const double mass = dot(p, scaled_.finish), mean = dot(d, scaled_.finish) / mass;
        const double second = dot(e, scaled_.finish) / mass;
        return {total + std::log(mass), centre + mean, std::max(second - mean * mean, 0.0)};
    }

    static void multiply_by(View<double> values, View<const double> factor) {
        double *__restrict value = values.data();
        const double *by = factor.data();
        for (Index j = 0; j < values.size(); ++j) value[j] *= by[j];
    }

    // Scale all three, then move the centre of the moments by ``shift``.
    static void move_centre(View<double> p, View<double> d, View<double> e, double scale,
                            double shift) {
        double *__restrict zeroth = p.data(), *__restrict first = d.data();
        double *__restrict second = e.data();
        for (Index j = 0; j < p.size(); ++j) {
            zeroth[j] *= scale;
            first[j] *= scale;
            second[j] = second[j] * scale - shift * (2.0 * first[j] - shift * zeroth[j]);
            first[j] -= shift * zeroth[j];
        }
    }

    // As ``scaled_moments``, with logarithms, for weights beyond the reach of scaled ones.
    Moments log_moments(Index chain, const Count &own, double step) const {
        const Own<double> p(r_), mean(r_, 0.0), variance(r_, 0.0), weights(r_);
        const Own<double> p_before(r_), mean_before(r_), variance_before(r_);
        copy(start_, p.view());
        for (Index t = first(chain); t < last(chain); ++t) {
            if (t > first(chain)) {
                copy(p, p_before.view());
                copy(mean, mean_before.view());
                copy(variance, variance_before.view());
                for (Index j = 0; j < r_; ++j) {
                    for (Index i = 0; i < r_; ++i) weights[i] = p_before[i] + transition_(i, j);
                    const Moments all = mixture(weights, mean_before, variance_before);
                    p[j] = all.total;
                    mean[j] = all.mean;
                    variance[j] = all.variance;
                }
            }
            const double top = chains::largest_of(scores_[t].first(r_));
            for (Index j = 0; j < r_; ++j) p[j] += scores_(t, j) - top;
            p[own.state] += step * own.x[t];
            mean[own.state] += own.x[t];
        }
        for (Index j = 0; j < r_; ++j) weights[j] = p[j] + end_[j];
        Moments all = mixture(weights, mean, variance);
        all.total -= scaled_.log_scale(last(chain) - first(chain));
        return all;
    }

    // Add the changes of one chain, with logarithms if necessary.
    void add_one_by_one(Index chain, Matrix<const double> columns, View<const Index> features,
                        View<const Index> states, View<const double> steps,
                        View<double> out) const {
        const std::vector<Index> touched{chain};
        const Own<double> x(columns.rows(), 0.0);
        const double base = moments(touched, {x, 0}, 0.0).total;
        for (Index c = 0; c < steps.size(); ++c) {
            for (Index t = first(chain); t < last(chain); ++t) x[t] = columns(t, features[c]);
            out[c] += moments(touched, {x, states[c]}, steps[c]).total - base;
        }
    }

    Index r_;
    Index width_;
    std::vector<double> start_;
    std::vector<double> end_;
    OwnMatrix<double> transition_;
    std::vector<Index> offsets_;
    OwnMatrix<double> scores_;   // (n, R): padded
    OwnMatrix<double> factors_;  // (n, R): exp(score - largest of the word), the padding zero
    chains::ScaledWeights scaled_;
    std::vector<double> spreads_;  // largest difference within the scores of a word of each chain
};

}  // namespace

void bind(nb::module_ &module) {
    nb::class_<Chains>(module, "Chains")
        .def(nb::init<Matrix<const double>, View<const double>, View<const double>,
                      Matrix<const double>, View<const Index>>())
        .def("moments", &Chains::moments_of)
        .def("minima_of_feature", &Chains::minima_of_feature)
        .def("changes", &Chains::changes);
}

}  // namespace greedyexp::chain_moments
