// The greedy dirty model; the contract is in greedy_dirty.py.
#include <cmath>
#include <limits>
#include <tuple>

#include <nanobind/stl/vector.h>

#include "casters.hpp"
#include "gram_fit.hpp"

namespace greedyexp::greedy_dirty {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

enum Status : int { DONE, TOO_LARGE, CYCLE };
// Steps allowed for each entry that could enter a support.
constexpr Index PATIENCE = 100;

enum Class { SINGLETON, ROW };

// A single entry, or a row with task -1.
struct Object {
    Class kind = SINGLETON;
    Index feature = -1;
    Index task = -1;
};

// What decides how the run goes on: the object sets of Algorithm 1 and the recorded rewards.
struct Selection {
    OwnMatrix<char> single;          // (r, p): Omega_s
    std::vector<char> row;           // (p,): Omega_b
    std::vector<double> rewards[2];  // one stack, or one for each class

    Selection(Index r, Index p) : single(r, p, 0), row(p, 0) {}

    Index height() const { return static_cast<Index>(rewards[0].size() + rewards[1].size()); }

    // True if both are the same state, up to rounding of the rewards.
    bool equals(const Selection &other) const {
        for (int line = 0; line < 2; ++line) {
            const auto &now = rewards[line], &then = other.rewards[line];
            if (now.size() != then.size()) return false;
            for (std::size_t t = 0; t < now.size(); ++t)
                if (std::abs(now[t] - then[t]) > TIE * then[t]) return false;
        }
        const View<char> mine = single.view().flat(), theirs = other.single.view().flat();
        return row == other.row && std::equal(mine.begin(), mine.end(), theirs.begin());
    }

    void copy_from(const Selection &other) {
        const View<char> from = other.single.view().flat();
        std::copy(from.begin(), from.end(), single.view().flat().begin());
        row = other.row;
        for (int line = 0; line < 2; ++line) rewards[line] = other.rewards[line];
    }
};

struct Run {
    Index r;
    Index p;
    View<const double> power;
    double weight;
    double nu;
    bool per_class;
    std::vector<GramFit> fits;
    Selection now;
    Index skipped = 0;             // best entries that were rejected for lying in the span
    OwnMatrix<double> gains;       // (r, p): loss decrease along every entry
    std::vector<double> together;  // (p,): loss decrease along every row
    std::vector<char> changed;     // (r,): tasks whose residual is out of date

    Run(const std::vector<GramRows *> &gram, Matrix<const double> correlation,
        View<const double> power, View<const Index> capacity, double weight, double nu,
        bool per_class)
        : r(correlation.rows()), p(correlation.columns()), power(power), weight(weight), nu(nu),
          per_class(per_class), now(r, p), gains(r, p), together(p), changed(r, true) {
        for (Index j = 0; j < r; ++j)
            fits.emplace_back(*gram[j % gram.size()], correlation[j], capacity[j]);
    }

    // Find the best object, stage it unless its reward is at most ``stop``, and return its reward.
    //
    // An object with an entry in the span of the support competes again without that entry.
    double choose(double stop, Object &best) {
        while (true) {
            const double reward = best_object(best);
            if (reward <= stop) return reward;
            const Index barred = stage(best);
            if (barred == 0) return reward;
            skipped += barred;
        }
    }

    // Add the staged object, refit the tasks it touches, record its reward.
    void push(const Object &object, double reward) {
        member(object) = true;
        const Index i = object.feature;
        for_tasks(object, [&](Index j) {
            GramFit &fit = fits[j];
            if (!fit.holds(i) && !fit.barred(i)) {
                fit.commit(i);
                fit.refit();
                changed[j] = true;
            }
        });
        stack_of(object).push_back(reward);
    }

    // Remove objects until the cheapest costs more than nu times its recorded reward.
    void backward() {
        while (now.height() > 0) {
            Object object;
            double cost = cheapest_singleton(object);
            Index row;
            const double row_cost = cheapest_row(row);
            if (row >= 0 && row_cost <= cost * (1.0 + TIE)) {
                object = {ROW, row, -1};
                cost = row_cost;
            }
            // Costs that overflow leave no object to remove.
            if (object.feature < 0 || cost > nu * stack_of(object).back()) return;
            pop(object);
        }
    }

    void correlate_residuals() {
        for (Index j = 0; j < r; ++j)
            if (changed[j]) fits[j].correlate_residual();
    }

    double loss() const {
        double total = 0.0;
        for (Index j = 0; j < r; ++j) total += 0.5 * (power[j] - fits[j].explained());
        return std::max(total, 0.0);
    }

    Index entries() const {
        Index total = 0;
        for (const GramFit &fit : fits) total += fit.size();
        return total;
    }

    char &member(const Object &object) {
        return object.kind == SINGLETON ? now.single(object.task, object.feature)
                                        : now.row[object.feature];
    }

    std::vector<double> &stack_of(const Object &object) {
        return now.rewards[per_class && object.kind == ROW];
    }

    template <class Function>
    void for_tasks(const Object &object, Function function) const {
        const bool single = object.kind == SINGLETON;
        const Index first = single ? object.task : 0, last = single ? object.task + 1 : r;
        for (Index j = first; j < last; ++j) function(j);
    }

    // The best object of a forward step and its reward. Ties go to the row, then to the lowest
    // index (feature first, then task).
    double best_object(Object &best) {
        double top_single = 0.0;
        std::fill(together.begin(), together.end(), 0.0);
        for (Index j = 0; j < r; ++j) {
            if (changed[j]) {
                fits[j].single_gains(GAIN_FLOOR * power[j], gains[j]);
                changed[j] = false;
            }
            const View<const double> own = gains[j];
            top_single = std::max(top_single, largest(own));
            for (Index i = 0; i < p; ++i) together[i] += own[i];
        }
        // Entries of a selected row have no gain, so such a row never wins.
        const double top_row = largest(together);
        best = {};
        if (top_row <= 0.0 && top_single <= 0.0) return 0.0;
        if (top_row / weight >= top_single * (1.0 - TIE))
            for (Index i = 0; i < p; ++i)
                if (together[i] >= top_row * (1.0 - TIE)) {
                    best = {ROW, i, -1};
                    return together[i] / weight;
                }
        for (Index i = 0; i < p; ++i)
            for (Index j = 0; j < r; ++j)
                if (gains(j, i) >= top_single * (1.0 - TIE)) {
                    best = {SINGLETON, i, j};
                    return gains(j, i);
                }
        return 0.0;
    }

    // Prepare all entries of an object; return the number barred for lying in the span.
    Index stage(const Object &object) {
        Index barred = 0;
        const Index i = object.feature;
        for_tasks(object, [&](Index j) {
            GramFit &fit = fits[j];
            if (!fit.holds(i) && !fit.barred(i) && !fit.stage(i, gains[j])) {
                fit.bar(i);
                barred += gains(j, i) > 0.0;
                changed[j] = true;
            }
        });
        return barred;
    }

    // The singleton that is cheapest to remove and its cost, infinite if there is none. Ties go to
    // the lowest feature, then to the lowest task.
    double cheapest_singleton(Object &cheapest) const {
        double least = INFINITE;
        cheapest = {};
        for (const bool check_ties : {false, true})
            for (Index j = 0; j < r; ++j)
                for (Index t = 0; t < fits[j].size(); ++t) {
                    const Index i = fits[j].feature(t);
                    if (!now.single(j, i)) continue;
                    const double cost = now.row[i] ? 0.0 : fits[j].own_cost(t);
                    if (!check_ties)
                        least = std::min(least, cost);
                    else if (cost <= least * (1.0 + TIE) &&
                             (cheapest.feature < 0 || i < cheapest.feature ||
                              (i == cheapest.feature && j < cheapest.task)))
                        cheapest = {SINGLETON, i, j};
                }
        return least;
    }

    // The row that is cheapest to remove, or -1, and its cost over its weight.
    double cheapest_row(Index &feature) const {
        double least = INFINITE;
        feature = -1;
        for (Index i = 0; i < p; ++i) {
            if (!now.row[i]) continue;
            double cost = 0.0;
            for (const GramFit &fit : fits)
                if (fit.holds(i)) cost += fit.own_cost(fit.position(i));
            cost /= weight;
            if (cost < least * (1.0 - TIE)) {
                least = cost;
                feature = i;
            }
        }
        return least;
    }

    // Remove an object, refit its tasks and remove the reward on top of its stack.
    void pop(const Object &object) {
        member(object) = false;
        const Index i = object.feature;
        for_tasks(object, [&](Index j) {
            if (now.row[i] || now.single(j, i) || !fits[j].holds(i)) return;
            fits[j].drop(i);
            readmit(fits[j]);
            fits[j].refit();
            changed[j] = true;
        });
        stack_of(object).pop_back();
    }

    // Try again the entries of selected rows that were left out for lying in the span.
    void readmit(GramFit &fit) {
        for (Index i = 0; i < p; ++i)
            if (now.row[i] && !fit.holds(i)) {
                if (fit.stage(i, {}))
                    fit.commit(i);
                else
                    fit.bar(i);
            }
    }
};

using Numbers = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using Indices = nb::ndarray<nb::numpy, Index, nb::ndim<1>>;

using Result = std::tuple<Numbers, Numbers, Indices, Indices, Numbers, int, Index, double>;

Result path(const std::vector<GramRows *> &gram, Matrix<const double> correlation,
            View<const double> power, View<const Index> capacity, double weight, double nu,
            bool per_class, double stop, double relative_floor, Index max_support) {
    const Index r = correlation.rows(), p = correlation.columns();
    Index most = 0;
    for (const Index count : capacity) most += count;
    Run run(gram, correlation, power, capacity, weight, nu, per_class);
    Selection snapshot(r, p);
    std::vector<double> epsilon, loss, values;
    std::vector<Index> ends{0}, entries;
    std::vector<std::pair<Index, double>> state;
    double lowest = INFINITE;
    Status status = DONE;
    for (Index steps = 0, next_snapshot = 1;; ++steps) {
        handle_signals();
        Object object;
        double reward = run.choose(stop, object);
        if (steps == 0) stop = std::max(stop, relative_floor * reward);
        bool ended = reward <= stop;
        if (run.entries() > max_support) {
            status = TOO_LARGE;
            break;
        }
        // Before the first snapshot there is no earlier state to return to.
        const bool returned = steps > 1 && run.now.equals(snapshot);
        if (!ended && (steps > PATIENCE * most || returned)) {
            status = CYCLE;
            ended = true;
            reward = stop;
        }
        if (ended || reward < lowest * (1.0 - TIE)) {
            lowest = reward;
            state.clear();
            for (Index j = 0; j < r; ++j)
                for (Index t = 0; t < run.fits[j].size(); ++t)
                    state.emplace_back(run.fits[j].feature(t) * r + j, run.fits[j].coefficient(t));
            std::sort(state.begin(), state.end());
            for (const auto &[entry, value] : state) {
                entries.push_back(entry);
                values.push_back(value);
            }
            epsilon.push_back(std::max(reward, stop));
            loss.push_back(run.loss());
            ends.push_back(static_cast<Index>(entries.size()));
        }
        if (ended) break;
        if (steps == next_snapshot) {
            snapshot.copy_from(run.now);
            next_snapshot *= 2;
        }
        run.push(object, reward);
        run.backward();
        run.correlate_residuals();
    }
    double smallest = 1.0;
    for (const GramFit &fit : run.fits) smallest = std::min(smallest, fit.smallest());
    return {to_numpy(std::move(epsilon)),
            to_numpy(std::move(loss)),
            to_numpy(std::move(ends)),
            to_numpy(std::move(entries)),
            to_numpy(std::move(values)),
            status,
            run.skipped,
            smallest};
}

Result path_of_matrices(Cube<const double> gram, Matrix<const double> correlation,
                        View<const double> power, View<const Index> capacity, double weight,
                        double nu, bool per_class, double stop, double relative_floor,
                        Index max_support) {
    std::vector<GramRows> matrices;
    for (Index k = 0; k < gram.depth(); ++k) matrices.emplace_back(gram[k]);
    std::vector<GramRows *> all;
    for (GramRows &one : matrices) all.push_back(&one);
    return path(all, correlation, power, capacity, weight, nu, per_class, stop, relative_floor,
                max_support);
}

}  // namespace

void bind(nb::module_ &module) {
    module.attr("DONE") = static_cast<int>(DONE);
    module.attr("TOO_LARGE") = static_cast<int>(TOO_LARGE);
    module.attr("CYCLE") = static_cast<int>(CYCLE);
    module.def("path", &path_of_matrices);
    module.def("path", &path);
}

}  // namespace greedyexp::greedy_dirty
