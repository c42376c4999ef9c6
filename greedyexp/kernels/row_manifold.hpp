// Newton steps for row-penalised least squares on the manifold of an estimate.
//
// An entry is zero, free above the clip level of its row, tied at it, or free below it (the kinds
// of row_penalty.hpp). On a manifold of given kinds the objective is quadratic. Exact steps towards
// its minimum stop at the first kink, where one entry is dropped or tied and the factor of the
// curvature is updated.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "cholesky.hpp"
#include "linear_algebra.hpp"
#include "row_penalty.hpp"

namespace greedyexp {

// An estimate for r tasks and p features with the factor of its manifold.
//
// A variable of the manifold is a free entry or the tied entries of a row.
class RowManifold {
  public:
    // The estimate zero. ``G`` (1 or r, p, p) is shared if it has one matrix, and ``capacity`` is
    // the largest possible number of independent variables.
    RowManifold(Cube<const double> G, Matrix<const double> correlation, Index capacity)
        : G_(G), correlation_(correlation), r_(correlation.rows()), p_(correlation.columns()),
          capacity_(capacity), coef_(r_, p_, 0.0), theta_(p_, 0.0),
          kind_(r_, p_, row_penalty::ZERO), grad_(r_, p_), slot_(r_, p_, NONE), tie_(p_, NONE),
          factor_(capacity + 1, capacity + 1), row_(capacity + 1), weight_(capacity + 1, r_, 0.0),
          excess_(capacity + 1), step_(capacity + 1), work_(capacity + 1) {
        refresh_gradient();
    }

    Matrix<const double> coef() const { return coef_; }
    // The clip level of each row.
    View<const double> theta() const { return theta_; }
    // X_j^T (y_j - X_j b_j) / n_j
    Matrix<const double> grad() const { return grad_; }
    View<const double> gram_row(Index j, Index i) const {
        return G_[std::min(j, G_.depth() - 1)][i];
    }

    void set_prices(double lam_s, double lam_b) {
        lam_s_ = lam_s;
        lam_b_ = lam_b;
    }

    // Replace the estimate by coefficients (p, r) that are a minimum at other prices or of fewer
    // rows. Their ties are recognised by equal sizes.
    void start(Matrix<const double> coef) {
        clear();
        std::vector<Index> used;
        for (Index i = 0; i < p_; ++i) {
            const View<const double> row = coef[i];
            if (std::all_of(row.begin(), row.end(), [](double entry) { return entry == 0.0; }))
                continue;
            used.push_back(i);
            theta_[i] = row_penalty::clip_level(row, lam_s_, lam_b_);
            for (Index j = 0; j < r_; ++j) {
                coef_(j, i) = row[j];
                kind_(j, i) = row_penalty::kind_of(row[j], theta_[i]);
            }
        }
        for (const Index i : used) settle(i);
        refresh_gradient();
    }

    void refresh_gradient() { gradient(G_, correlation_, coef_, grad_); }

    // Replace the coefficients of row i and update the gradient.
    void replace_row(Index i, View<const double> row, View<const row_penalty::Kind> kind,
                     double theta) {
        theta_[i] = theta;
        bool same_shape = true;
        for (Index j = 0; j < r_; ++j) {
            const double change = row[j] - coef_(j, i);
            if (change != 0.0) axpy(-change, gram_row(j, i), grad_[j]);
            if (kind[j] != kind_(j, i) || row[j] * coef_(j, i) < 0.0) same_shape = false;
            coef_(j, i) = row[j];
            kind_(j, i) = kind[j];
        }
        if (!same_shape) settle(i);
    }

    // Minimise over the manifold, dropping and tying entries at the kinks on the way.
    void newton() {
        for (Index v = 0; v < size_; ++v) excess_[v] = slope(v);
        while (true) {
            std::copy_n(excess_.begin(), size_, step_.begin());
            cholesky::solve(factor_, size_, step_);
            cholesky::solve_transposed(factor_, size_, step_, step_);
            const Kink kink = first_kink(size_, 1.0);
            move(size_, kink.length);
            for (Index v = 0; v < size_; ++v) excess_[v] *= 1.0 - kink.length;
            if (kink.row < 0) return;
            row_penalty::cross(coef_, theta_, kind_, kink.task, kink.row);
            settle(kink.row);
        }
    }

    // Whether the slope of the objective is at most ``bound`` along each variable.
    bool is_stationary(double bound) const {
        for (Index v = 0; v < size_; ++v)
            if (!(std::abs(slope(v)) <= bound)) return false;
        return true;
    }

  private:
    static constexpr Index NONE = -1;
    // A variable whose squared distance from the span of the others is below this part of its own
    // curvature is dependent on them.
    static constexpr double DEPENDENT = 1e-12;

    // The length of a step and the entry that leaves its kind there, if any.
    struct Kink {
        double length;
        Index task = NONE;
        Index row = NONE;

        // The step reaches the kink where ``room``, changing at ``rate``, is used up.
        void meet(double room, double rate, Index j, Index i) {
            if (rate < 0.0 && room + length * rate < 0.0)
                *this = {std::max(room, 0.0) / -rate, j, i};
        }
    };

    // Return to the estimate zero.
    void clear() {
        fill(coef_.view().flat(), 0.0);
        fill(kind_.view().flat(), row_penalty::ZERO);
        fill(slot_.view().flat(), NONE);
        std::fill(theta_.begin(), theta_.end(), 0.0);
        std::fill(tie_.begin(), tie_.end(), NONE);
        size_ = 0;
    }

    bool is(Index j, Index i, row_penalty::Kind kind) const { return kind_(j, i) == kind; }
    bool is_free(Index j, Index i) const {
        return is(j, i, row_penalty::UPPER) || is(j, i, row_penalty::LOWER);
    }

    // Slope of the penalty along variable v.
    double price(Index v) const {
        const Index i = row_[v];
        if (v != tie_[i])
            for (Index j = 0; j < r_; ++j)
                if (weight_(v, j) != 0.0) return is(j, i, row_penalty::UPPER) ? lam_s_ : 0.0;
        double left = lam_b_;
        for (Index j = 0; j < r_; ++j)
            if (is(j, i, row_penalty::UPPER)) left -= lam_s_;
        return left;
    }

    // Downward slope of the objective along variable v.
    double slope(Index v) const {
        double along = 0.0;
        for (Index j = 0; j < r_; ++j) along += weight_(v, j) * grad_(j, row_[v]);
        return along - price(v);
    }

    // Let the entries and the tie of variable v point to variable ``to`` instead.
    void point(Index v, Index to) {
        const Index i = row_[v];
        for (Index j = 0; j < r_; ++j)
            if (weight_(v, j) != 0.0) slot_(j, i) = to;
        if (tie_[i] == v) tie_[i] = to;
    }

    // Remove variable v from the factor and close the gap it leaves.
    void detach(Index v) {
        cholesky::remove(factor_, size_, v, work_);
        point(v, NONE);
        for (Index u = v; u + 1 < size_; ++u) {
            point(u + 1, u);
            row_[u] = row_[u + 1];
            excess_[u] = excess_[u + 1];
            copy<double>(weight_[u + 1], weight_[u]);
        }
        --size_;
    }

    // Add the variable of row i whose direction is at the end of ``weight``; return false if it is
    // dependent on the others.
    //
    // In either case its number is the size before, and that row of ``factor`` holds L^-1 of its
    // products with the others.
    bool attach(Index i, bool tied) {
        row_[size_] = i;
        std::fill_n(work_.begin(), size_, 0.0);
        double curvature = 0.0;
        for (Index j = 0; j < r_; ++j) {
            const double own = weight_(size_, j);
            if (own == 0.0) continue;
            slot_(j, i) = size_;
            const View<const double> line = gram_row(j, i);
            for (Index u = 0; u < size_; ++u) work_[u] += own * weight_(u, j) * line[row_[u]];
            curvature += line[i];
        }
        if (tied) tie_[i] = size_;
        const double sine = cholesky::append(factor_, size_, work_, curvature);
        if (size_ >= capacity_ || !(sine > DEPENDENT)) return false;
        ++size_;
        return true;
    }

    // The first kink of a step along the leading variables, up to a length.
    Kink first_kink(Index size, double limit) const {
        Kink kink{limit};
        for (Index v = 0; v < size; ++v) {
            const Index i = row_[v], tie = tie_[i];
            const double tie_step = tie >= 0 ? step_[tie] : 0.0;
            for (Index j = 0; j < r_; ++j) {
                if (weight_(v, j) == 0.0) continue;
                const double now = std::abs(coef_(j, i));
                if (is(j, i, row_penalty::UPPER)) {
                    kink.meet(now - theta_[i], step_[v] - tie_step, j, i);
                } else if (is(j, i, row_penalty::TIED)) {
                    meet_waiting(v, kink);
                    kink.meet(theta_[i], step_[v], j, i);
                } else {
                    const double along = step_[v] * weight_(v, j);
                    const double outward = coef_(j, i) >= 0.0 ? along : -along;
                    kink.meet(theta_[i] + now, tie_step + outward, j, i);
                    kink.meet(theta_[i] - now, tie_step - outward, j, i);
                }
            }
        }
        return kink;
    }

    // Kinks of the entries without a variable in the row of tied variable v.
    void meet_waiting(Index v, Kink &kink) const {
        const Index i = row_[v];
        for (Index j = 0; j < r_; ++j) {
            if (slot_(j, i) >= 0 || !is_free(j, i)) continue;
            const double room = std::abs(coef_(j, i)) - theta_[i], rate = -step_[v];
            if (is(j, i, row_penalty::LOWER))
                kink.meet(-room, -rate, j, i);
            else
                kink.meet(room, rate, j, i);
        }
    }

    void move(Index size, double length) {
        for (Index v = 0; v < size; ++v) {
            const Index i = row_[v];
            const bool tied = v == tie_[i];
            if (tied) theta_[i] += length * step_[v];
            for (Index j = 0; j < r_; ++j) {
                if (weight_(v, j) == 0.0) continue;
                if (tied)
                    coef_(j, i) = weight_(v, j) * theta_[i];
                else
                    coef_(j, i) += length * step_[v] * weight_(v, j);
            }
        }
    }

    // Set up the variables of a row again after its kinds have changed.
    //
    // If a variable depends on the others, the loss is constant and the penalty linear along the
    // null direction that it spans. The estimate then moves downhill to the next kink, and the
    // attempt is repeated. Every kink removes a variable, so this ends.
    void settle(Index row) {
        std::vector<Index> todo = {row};
        while (!todo.empty()) {
            const Index i = todo.back(), changed = set_up(i);
            if (changed == NONE)
                todo.pop_back();
            else if (changed != i)
                todo.push_back(changed);
        }
    }

    // Remove the variables of row i that no longer match its kinds and signs.
    void detach_outdated(Index i) {
        const Index tie = tie_[i];
        if (tie >= 0)
            for (Index j = 0; j < r_; ++j)
                if (weight_(tie, j) != tied_sign(j, i)) {
                    detach(tie);
                    break;
                }
        for (Index j = 0; j < r_; ++j) {
            const Index v = slot_(j, i);
            if (v < 0 || v == tie_[i]) continue;
            const bool turned = is(j, i, row_penalty::UPPER) && weight_(v, j) * coef_(j, i) < 0.0;
            if (turned || !is_free(j, i)) detach(v);
        }
    }

    double tied_sign(Index j, Index i) const {
        return is(j, i, row_penalty::TIED) ? row_penalty::sign(coef_(j, i)) : 0.0;
    }

    // Set up the variables of row i; return the row changed by a null move, or NONE.
    Index set_up(Index i) {
        detach_outdated(i);
        bool fresh = false;
        const auto add = [&](bool tied) {
            if (!fresh)
                for (Index j = 0; j < r_; ++j)
                    grad_(j, i) = correlation_(j, i) - dot(gram_row(j, i), coef_[j]);
            fresh = true;
            if (!attach(i, tied)) return false;
            excess_[size_ - 1] = slope(size_ - 1);
            return true;
        };
        if (tie_[i] < 0 && row_penalty::any_tied(kind_, i)) {
            for (Index j = 0; j < r_; ++j) weight_(size_, j) = tied_sign(j, i);
            if (!add(true)) return null_move();
        }
        for (Index j = 0; j < r_; ++j) {
            if (slot_(j, i) >= 0 || !is_free(j, i)) continue;
            fill(weight_[size_], 0.0);
            const bool negative = is(j, i, row_penalty::UPPER) && coef_(j, i) < 0.0;
            weight_(size_, j) = negative ? -1.0 : 1.0;
            if (!add(false)) return null_move();
        }
        return NONE;
    }

    // Go downhill along the null direction of the variable that could not be attached; return the
    // row whose kinds have changed.
    //
    // The direction is null up to rounding only, so its slope is that of the whole objective.
    Index null_move() {
        cholesky::solve_transposed(factor_, size_, factor_[size_], step_);
        for (Index v = 0; v < size_; ++v) step_[v] = -step_[v];
        step_[size_] = 1.0;
        refresh_gradient();
        double downward = 0.0;
        for (Index v = 0; v <= size_; ++v) downward += step_[v] * slope(v);
        if (downward < 0.0)
            for (Index v = 0; v <= size_; ++v) step_[v] = -step_[v];
        Kink kink = first_kink(size_ + 1, std::numeric_limits<double>::infinity());
        if (kink.row < 0) {
            Index task = 0;
            while (task + 1 < r_ && weight_(size_, task) == 0.0) ++task;
            kink = {0.0, task, row_[size_]};
        }
        move(size_ + 1, kink.length);
        row_penalty::cross(coef_, theta_, kind_, kink.task, kink.row);
        refresh_gradient();
        point(size_, NONE);
        return kink.row;
    }

    Cube<const double> G_;
    Matrix<const double> correlation_;
    Index r_;
    Index p_;
    Index capacity_;
    double lam_s_ = 0.0;
    double lam_b_ = 0.0;
    OwnMatrix<double> coef_;             // (r, p)
    std::vector<double> theta_;          // (p,)
    OwnMatrix<row_penalty::Kind> kind_;  // (r, p)
    OwnMatrix<double> grad_;             // (r, p)
    OwnMatrix<Index> slot_;              // (r, p) variable an entry belongs to, or NONE
    std::vector<Index> tie_;             // (p,) variable of the tied entries of a row, or NONE
    Index size_ = 0;                     // number of variables, K at most
    OwnMatrix<double> factor_;           // (K + 1, K + 1) Cholesky factor of the curvature
    std::vector<Index> row_;             // (K + 1,) row of each variable
    OwnMatrix<double> weight_;           // (K + 1, r) direction of each variable
    std::vector<double> excess_;         // (K + 1,) slope of each variable
    std::vector<double> step_;           // (K + 1,)
    std::vector<double> work_;           // (K + 1,) scratch
};

}  // namespace greedyexp
