// One step of the ultimate method; the contract is in gauge_step.py.
//
// The method goes downhill along the constraints that it holds with equality, adds the first one
// that blocks the way and releases the one with the most negative multiplier.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "casters.hpp"
#include "linear_algebra.hpp"
#include "orthogonal_factor.hpp"

namespace greedyexp::gauge_step {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

enum Status : int { SOLVED, UNBOUNDED, DEPENDENT, TOO_LONG };
enum Kind { MOVE, PRICE };

// Relative sizes below which a direction, a change or a multiplier counts as a rounding error.
constexpr double NO_SLOPE = 1e-13;
constexpr double NO_CHANGE = 1e-13;
constexpr double NO_WEIGHT = 1e-13;
// A level at its price to this relative accuracy counts as equal to it, and is moved there.
constexpr double AT_PRICE = 1e-14;
// t is a difference of correlations. Below this part of their size it counts as zero.
constexpr double NO_MOVE = 1e-15;
// A constraint whose slope along a direction is below this part of its length is parallel to it.
constexpr double PARALLEL = 1e-13;

double length_of(View<const double> values) { return std::sqrt(dot(values, values)); }

struct Step {
    Matrix<const double> atoms;
    View<const double> x;
    View<const double> c;
    double lam;
    double smoothness;
};

struct Constraint {
    Kind kind = MOVE;
    Index atom = -1;
    double sign = 0.0;  // which side of the absolute value
};

// Constraints held with equality, with the QR factors of their normals, in the k = r + 1
// coordinates of (v, t).
class Face {
  public:
    explicit Face(const Step &step)
        : step_(step), r_(step.atoms.columns()), k_(r_ + 1), basis_(k_, k_, 0.0),
          triangle_(k_, k_, 0.0), held_{std::vector<char>(step.atoms.rows(), false),
                                        std::vector<char>(step.atoms.rows(), false)},
          normal_(k_), falls_(k_), lifts_(k_) {
        for (Index i = 0; i < k_; ++i) basis_(i, i) = 1.0;
    }

    Index size() const { return static_cast<Index>(constraints_.size()); }
    const Constraint &constraint(Index j) const { return constraints_[j]; }
    bool holds(Kind kind, Index atom) const { return held_[kind][atom]; }

    // Hold one more constraint; return false if its normal depends on those of the others.
    bool hold(const Constraint &added) {
        for (Index j = 0; j < r_; ++j) normal_[j] = added.sign * step_.atoms(added.atom, j);
        normal_[r_] = added.kind == MOVE ? -1.0 : 0.0;
        const Index last = size();
        orthogonal_factor::append(basis_, triangle_, last, normal_);
        if (!(std::abs(triangle_(last, last)) > PARALLEL * length_of(normal_))) return false;
        constraints_.push_back(added);
        held_[added.kind][added.atom] = true;
        return true;
    }

    void release(Index index) {
        held_[constraints_[index].kind][constraints_[index].atom] = false;
        orthogonal_factor::remove(basis_, triangle_, size(), index);
        constraints_.erase(constraints_.begin() + index);
    }

    // Write a direction that keeps the constraints held; return its largest useful length, or 0.
    //
    // Directions that do not change t come first; the objective is linear along them. The last one
    // is curved, and its minimum is at length 1.
    double downhill(View<const double> slope, double t, double unit, double least,
                    View<double> direction) const {
        const Matrix<double> complement(basis_.view().data() + size() * k_, k_ - size(), k_);
        if (complement.rows() == 0) return 0.0;
        const View<double> falls = falls_.view().first(complement.rows());
        const View<double> lifts = lifts_.view().first(complement.rows());
        multiply(complement, slope, falls);
        for (Index j = 0; j < lifts.size(); ++j) lifts[j] = complement(j, r_);
        const double curvature = dot(lifts, lifts), common = dot(lifts, falls);
        const bool free = curvature > PARALLEL * PARALLEL;
        if (free)
            // The second round leaves an error in t of the order of the rounding of the direction.
            for (int round = 0; round < 2; ++round)
                axpy(-(dot(lifts, falls) / curvature), lifts, falls);
        if (length_of(falls) > NO_SLOPE * std::sqrt(static_cast<double>(k_)) * unit) {
            along(complement, falls, -1.0, direction);
            if (free) direction[r_] = 0.0;
            return INFINITE;
        }
        if (free) {
            const double length = common * step_.smoothness / (curvature * curvature);
            if (std::abs(length * curvature) > NO_CHANGE * t + least) {
                along(complement, lifts, -length, direction);
                return 1.0;
            }
        }
        return 0.0;
    }

    // Solve N weight = -slope, with one round of refinement from the atoms themselves.
    void multipliers(View<const double> slope, View<double> weight) const {
        const Own<double> rest(k_), change(size());
        for (Index i = 0; i < k_; ++i) rest[i] = -slope[i];
        fill(weight.first(size()), 0.0);
        for (int round = 0; round < 2; ++round) {
            for (Index j = 0; j < size(); ++j) change[j] = dot(basis_[j], rest);
            orthogonal_factor::solve(triangle_, size(), change);
            for (Index j = 0; j < size(); ++j) {
                const Constraint &own = constraints_[j];
                weight[j] += change[j];
                axpy(-change[j] * own.sign, step_.atoms[own.atom], rest.view().first(r_));
                if (own.kind == MOVE) rest[r_] += change[j];
            }
        }
    }

    // Move (v, t) to the nearest point where all constraints held are equalities to rounding.
    void settle(View<double> point) const {
        const Own<double> miss(size());
        for (Index j = 0; j < size(); ++j) {
            const Constraint &own = constraints_[j];
            const View<const double> atom = step_.atoms[own.atom];
            const double reached = own.sign * dot(atom, point);
            miss[j] = own.kind == MOVE ? point[r_] - own.sign * dot(atom, step_.c) - reached
                                       : step_.lam - reached;
        }
        orthogonal_factor::solve_transposed(triangle_, size(), miss);
        for (Index j = 0; j < size(); ++j) axpy(miss[j], basis_[j], point);
    }

  private:
    // direction <- scale * sum of the rows of the complement weighted by ``parts``.
    static void along(Matrix<const double> complement, View<double> parts, double scale,
                      View<double> direction) {
        for (double &part : parts) part *= scale;
        multiply_transposed(complement, parts, direction);
    }

    const Step &step_;
    Index r_;
    Index k_;
    OwnMatrix<double> basis_;  // see orthogonal_factor.hpp
    OwnMatrix<double> triangle_;
    std::vector<Constraint> constraints_;
    std::vector<char> held_[2];           // by kind and atom
    Own<double> normal_, falls_, lifts_;  // scratch
};

struct Wall {
    double length;
    Constraint constraint;  // its atom is -1 if there is none
};

// The first constraint within ``longest`` along a direction: ``rate`` is the change of ``level``,
// ``climb`` that of t.
Wall first_wall(const Face &face, View<const double> offset, View<const double> level, double t,
                double lam, View<const double> rate, double climb, double longest, double tiny) {
    Wall wall{longest, {}};
    for (Index i = 0; i < level.size(); ++i) {
        const double pace = rate[i];
        if (!face.holds(PRICE, i) && std::abs(pace) > tiny) {
            const double sign = pace > 0.0 ? 1.0 : -1.0;
            const double length = (lam - sign * level[i]) / std::abs(pace);
            if (length < wall.length) wall = {length, {PRICE, i, sign}};
        }
        if (!face.holds(MOVE, i)) {
            const double value = offset[i] + level[i];
            if (pace - climb > tiny) {
                const double length = (t - value) / (pace - climb);
                if (length < wall.length) wall = {length, {MOVE, i, 1.0}};
            }
            if (-pace - climb > tiny) {
                const double length = (t + value) / (-pace - climb);
                if (length < wall.length) wall = {length, {MOVE, i, -1.0}};
            }
        }
    }
    wall.length = std::max(wall.length, 0.0);
    return wall;
}

// Index of the most negative multiplier that is not a rounding error, or -1; then rounding errors
// are set to zero.
Index worst(View<double> weight) {
    const double least = NO_WEIGHT * largest_size(weight);
    const auto lowest = std::min_element(weight.begin(), weight.end());
    if (lowest != weight.end() && *lowest < -least) return lowest - weight.begin();
    for (double &own : weight)
        if (own < least) own = 0.0;
    return -1;
}

// Hold the price constraints of the present atoms and the move constraint that sets t, which is
// returned.
double begin(Face &face, const Step &step, View<const double> offset, View<const double> level,
             View<const Index> support) {
    for (const Index i : support)
        if (std::abs(std::abs(level[i]) - step.lam) <= AT_PRICE * step.lam &&
            face.size() < step.atoms.columns())
            face.hold({PRICE, i, level[i] > 0.0 ? 1.0 : -1.0});
    Index first = 0;
    double t = 0.0;
    for (Index i = 0; i < level.size(); ++i)
        if (std::abs(offset[i] + level[i]) > t) {
            first = i;
            t = std::abs(offset[i] + level[i]);
        }
    face.hold({MOVE, first, offset[first] + level[first] > 0.0 ? 1.0 : -1.0});
    return t;
}

// Move from a feasible point (v, t) to the solution. ``level`` follows v; ``weight`` becomes the
// multipliers of the constraints held.
Status descend(Face &face, const Step &step, View<const double> offset, View<double> level,
               View<double> point, View<double> weight, Index most) {
    const Index r = step.x.size();
    const double length_of_x = length_of(step.x), far = largest_size(offset);
    const double least = 1e-17 * far, rounding = NO_MOVE * (far + step.lam);
    const Own<double> direction(r + 1), slope(r + 1), rate(level.size());
    for (Index i = 0; i < r; ++i) slope[i] = -step.x[i];
    for (Index changes = 0; changes < most; ++changes) {
        handle_signals();
        // At x = 0 without a move, the whole slope would be a rounding error in t.
        const double t = point[r] > rounding ? point[r] : 0.0;
        slope[r] = t / step.smoothness;
        const double longest =
            face.downhill(slope, t, length_of_x + slope[r], t > 0.0 ? least : rounding, direction);
        if (longest == 0.0) {
            face.multipliers(slope, weight);
            const Index index = worst(weight.first(face.size()));
            if (index < 0) return SOLVED;
            face.release(index);
            continue;
        }
        for (Index i = 0; i < level.size(); ++i) rate[i] = dot(step.atoms[i], direction);
        const Wall wall = first_wall(face, offset, level, point[r], step.lam, rate, direction[r],
                                     longest, PARALLEL * length_of(direction));
        if (wall.length == INFINITE) return UNBOUNDED;
        axpy(wall.length, direction, point);
        axpy(wall.length, rate, level);
        if (wall.constraint.atom >= 0 && !face.hold(wall.constraint)) return DEPENDENT;
    }
    return TOO_LONG;
}

int solve(Matrix<const double> atoms, View<const double> x, View<const double> c, double lam,
          double smoothness, View<const double> v, View<const Index> support, Index most,
          View<double> estimate, View<double> move, View<double> dual) {
    const Step step{atoms, x, c, lam, smoothness};
    const Index p = atoms.rows(), r = atoms.columns();
    const Own<double> offset(p), level(p), point(r + 1), weight(r + 1);
    multiply(atoms, c, offset);
    multiply(atoms, v, level);
    Face face(step);
    copy(v, point.view().first(r));
    point[r] = begin(face, step, offset, level, support);
    const Status status = descend(face, step, offset, level, point, weight, most);
    if (status == SOLVED) {
        face.settle(point);
        for (Index j = 0; j < face.size(); ++j) {
            const auto [kind, atom, sign] = face.constraint(j);
            if (kind == PRICE)
                estimate[atom] += sign * weight[j];
            else
                move[atom] -= sign * weight[j];
        }
    }
    copy(point.view().first(r), dual);
    return status;
}

}  // namespace

void bind(nb::module_ &module) {
    module.attr("SOLVED") = static_cast<int>(SOLVED);
    module.attr("UNBOUNDED") = static_cast<int>(UNBOUNDED);
    module.attr("DEPENDENT") = static_cast<int>(DEPENDENT);
    module.attr("TOO_LONG") = static_cast<int>(TOO_LONG);
    module.def("solve", &solve);
}

}  // namespace greedyexp::gauge_step
