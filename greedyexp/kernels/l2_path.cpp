// The path of the l1/l2 group lasso; the contract is in l2_path.py.
//
// Since lam ||v|| = min over s >= 0 of ||v||^2 / (2 s) + lam^2 s / 2, with the minimum at
// s = ||v|| / lam, the l1/l2 estimate minimises over scales s >= 0
//
//     f(s) = min over b of loss(b) + sum_i (||b_i||^2 / s_i + lam^2 s_i) / 2.
//
// The inner problem is ridge regression. f is convex and smooth up to the boundary, where a row
// vanishes: with g_i row i of X^T (y - X b) / n, which is b_i / s_i where s_i > 0,
//
//     df / ds_i = (lam^2 - ||g_i||^2) / 2,    d2f / ds_i ds_k = sum_j g_ij g_kj H_j[i, k],
//
// H_j = G_j - G_j S (I + S G_j S)^-1 S G_j with S^2 = diag(s). Block coordinate descent on b would
// be slow for correlated features. Newton's method on s has as many variables as there are rows,
// whatever the number of tasks, and f has no kinks.
//
// Each point of the path starts from the scales of the previous one, whose fit does not depend on
// lam. Its first step follows the path on the active rows. Rows whose gradient then lies outside
// the dual ball, ||g_i|| > lam, join the next step.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "casters.hpp"
#include "cholesky.hpp"
#include "kept_estimate.hpp"
#include "linear_algebra.hpp"

namespace greedyexp::l2_path {
namespace {

// A point is finished when its optimality conditions hold to this part of lam.
constexpr double PRECISION = 1e-9;
// After so many steps without that (ill-conditioned data), the duality gap alone decides.
constexpr Index PATIENCE = KeptEstimate::PATIENCE;
// A step is halved while the slope along it has turned and is steeper than this part of the slope
// at its start. Below that, a nearly quadratic convex function has decreased.
constexpr double TURNED = 0.5;
constexpr double SHORTEST = 1e-6;
// Added to the diagonal of the curvature, relative to it; it is singular for duplicate columns.
constexpr double RIDGE = 1e-10;

// Euclidean norm of each column of an array (r, p), that is, of each row of coefficients.
std::vector<double> row_norms(Matrix<const double> values) {
    std::vector<double> norms(values.columns(), 0.0);
    for (Index j = 0; j < values.rows(); ++j)
        for (Index i = 0; i < values.columns(); ++i) norms[i] += values(j, i) * values(j, i);
    for (double &norm : norms) norm = std::sqrt(norm);
    return norms;
}

// Cholesky factor, with a growing ridge until the matrix is definite; false if it never is.
bool factor_with_ridge(Matrix<double> matrix, Matrix<double> lower) {
    std::vector<double> diagonal;
    for (Index a = 0; a < matrix.rows(); ++a) diagonal.push_back(matrix(a, a));
    const double largest = *std::max_element(diagonal.begin(), diagonal.end());
    const double floor = 1e-16 * std::max(largest, 0.0) + 1e-300;
    for (double ridge = RIDGE; ridge < 1e6; ridge *= 100.0) {
        for (Index a = 0; a < matrix.rows(); ++a)
            matrix(a, a) = diagonal[a] + ridge * std::max(diagonal[a], floor);
        if (cholesky::factor(matrix, lower)) return true;
    }
    return false;
}

// Decrease <slope, d> + <d, matrix d> / 2 subject to scale + d >= 0; return d, exactly -scale at
// the bounds, and zero if the matrix has no factor. The diagonal of the matrix is changed.
//
// A Newton step ends at the first bound. The scale at the bound is fixed there and the factor is
// reduced. This is repeated until a step meets no bound; every step decreases the model.
std::vector<double> bounded_step(Matrix<double> matrix, View<const double> slope,
                                 View<const double> scale) {
    Index size = slope.size();
    std::vector<double> change(size, 0.0);
    OwnMatrix<double> lower(size, size);
    if (!factor_with_ridge(matrix, lower)) return change;
    std::vector<Index> place;
    std::vector<double> left, step(size), carried(size, 0.0);
    for (Index a = 0; a < size; ++a) {
        place.push_back(a);
        left.push_back(-slope[a]);
    }
    while (size > 0) {
        std::copy_n(left.begin(), size, step.begin());
        cholesky::solve(lower, size, step);
        cholesky::solve_transposed(lower, size, step, step);
        double length = 1.0;
        Index met = -1;
        for (Index v = 0; v < size; ++v) {
            const double room = scale[place[v]] + change[place[v]];
            if (step[v] < 0.0 && room + length * step[v] < 0.0) {
                length = std::max(room, 0.0) / -step[v];
                met = v;
            }
        }
        for (Index v = 0; v < size; ++v) change[place[v]] += length * step[v];
        if (met < 0) break;
        change[place[met]] = -scale[place[met]];
        for (Index v = 0; v < size; ++v) left[v] *= 1.0 - length;
        cholesky::remove(lower, size, met, carried);
        place.erase(place.begin() + met);
        left.erase(left.begin() + met);
        --size;
    }
    return change;
}

class Path {
  public:
    Path(Cube<const double> G, Matrix<const double> correlation, double power, double accuracy,
         Index max_sweeps)
        : G_(G), correlation_(correlation), power_(power), accuracy_(accuracy),
          max_sweeps_(max_sweeps), r_(correlation.rows()), p_(correlation.columns()), kept_(p_, r_),
          scale_(p_, 0.0), kept_scale_(p_, 0.0), coef_(r_, p_, 0.0), grad_(r_, p_),
          inverse_(G.depth(), 0, 0) {
        copy(correlation.flat(), grad_.view().flat());
        for (const double entry : correlation.flat())
            rounding_ = std::max(rounding_, 1e-15 * std::abs(entry));
    }

    // Begin with other scales (p,) than zero.
    void start(View<const double> scale) {
        copy(scale, View<double>(scale_));
        fit();
    }

    // Newton steps to the optimum at lam, which is returned.
    //
    // Where rounding prevents progress, the estimate of the smallest duality gap is returned, and
    // the next point starts from it.
    const KeptEstimate &solve(double lam) {
        lam_ = lam;
        kept_.begin();
        if (minimise()) {
            kept_scale_ = scale_;
        } else {
            scale_ = kept_scale_;
            fit();
        }
        return kept_;
    }

  private:
    // Return whether the optimum has been reached.
    bool minimise() {
        const double slack = PRECISION + rounding_ / lam_;
        for (Index sweep = 0; sweep < max_sweeps_; ++sweep) {
            handle_signals();
            const Certificate now = certificate();
            if (violation() <= slack || (sweep >= PATIENCE && now.second <= accuracy_)) {
                kept_.keep(coef_, now);
                return true;
            }
            judge(now);
            if (kept_.has_stalled()) return false;
            std::vector<Index> entering;
            if (sweep > 0 || active_.empty()) entering = outside(lam_ * (1.0 + slack));
            std::vector<Index> rows = active_;
            rows.insert(rows.end(), entering.begin(), entering.end());
            // The estimate zero violates its conditions by a rounding error only.
            if (rows.empty()) return true;
            std::vector<double> scale;
            for (const Index i : rows) scale.push_back(scale_[i]);
            OwnMatrix<double> matrix = curvature(rows);
            const std::vector<double> slope = scale_slope(rows), secular = secular_slope(rows);
            std::vector<double> change = bounded_step(matrix, secular, scale);
            if (dot(slope, change) >= 0.0) change = bounded_step(matrix, slope, scale);
            if (!search(rows, scale, change, dot(slope, change))) return false;
        }
        judge(certificate());
        return false;
    }

    void judge(Certificate now) {
        kept_.judge(coef_, now, accuracy_);
        if (now.second == kept_.gap()) kept_scale_ = scale_;
    }

    // Objective and duality gap from the full gradient.
    //
    // With R = ||residual||^2 / n, the dual point t * residual / n is feasible for
    // t <= lam / max_i ||g_i|| and the gap is R (1 - t)^2 / 2 + sum over rows of
    // (lam ||b_i|| - t <b_i, g_i>). No term is negative, so nothing as large as the objective
    // cancels.
    Certificate certificate() const {
        const std::vector<double> sizes = row_norms(coef_), slopes = row_norms(grad_);
        double steepest = 0.0;
        for (const double slope : slopes) steepest = larger_or_nan(steepest, slope);
        const double t = 1.0 / larger_or_nan(1.0, steepest / lam_);
        double inner = 0.0, fitted = 0.0, penalty = 0.0, slack = 0.0;
        for (Index i = 0; i < p_; ++i) {
            if (sizes[i] == 0.0) continue;
            double own = 0.0;
            for (Index j = 0; j < r_; ++j) {
                own += coef_(j, i) * grad_(j, i);
                fitted += coef_(j, i) * correlation_(j, i);
            }
            inner += own;
            penalty += lam_ * sizes[i];
            slack += std::max(lam_ * sizes[i] - t * own, 0.0);
        }
        const double residual = std::max(power_ - fitted - inner, 0.0);
        const double gap = 0.5 * residual * ((1.0 - t) * (1.0 - t)) + slack;
        return {0.5 * residual + penalty, gap + hidden_gap(G_, coef_)};
    }

    // Largest distance of a row of the gradient from the subdifferential, in units of lam.
    double violation() const {
        const std::vector<double> sizes = row_norms(coef_), slopes = row_norms(grad_);
        double worst = 0.0;
        for (Index i = 0; i < p_; ++i) {
            if (sizes[i] > 0.0) {
                double distance = 0.0;
                for (Index j = 0; j < r_; ++j) {
                    const double difference = grad_(j, i) / lam_ - coef_(j, i) / sizes[i];
                    distance += difference * difference;
                }
                worst = larger_or_nan(worst, std::sqrt(distance));
            } else {
                worst = larger_or_nan(worst, slopes[i] / lam_ - 1.0);
            }
        }
        return worst;
    }

    // Rows of scale 0 whose gradient is longer than ``bound``.
    std::vector<Index> outside(double bound) const {
        const std::vector<double> slopes = row_norms(grad_);
        std::vector<Index> found;
        for (Index i = 0; i < p_; ++i)
            if (slopes[i] > bound && scale_[i] == 0.0) found.push_back(i);
        return found;
    }

    double squared_slope(Index i) const {
        double square = 0.0;
        for (Index j = 0; j < r_; ++j) square += grad_(j, i) * grad_(j, i);
        return square;
    }

    // df / ds on the given rows.
    std::vector<double> scale_slope(View<const Index> rows) const {
        std::vector<double> slope;
        for (const Index i : rows) slope.push_back(0.5 * (lam_ * lam_ - squared_slope(i)));
        return slope;
    }

    // The slope for Newton's method on 1 / ||g_i|| = 1 / lam in place of df / ds_i = 0.
    //
    // Both have the same matrix, and to first order the steps agree. For orthogonal features of
    // equal mean square 1 / ||g_i|| is linear in s_i, and one step is exact for any change of lam.
    std::vector<double> secular_slope(View<const Index> rows) const {
        std::vector<double> slope;
        for (const Index i : rows) {
            const double square = squared_slope(i);
            slope.push_back(-(square * (std::sqrt(square) / lam_ - 1.0)));
        }
        return slope;
    }

    // Move the scales of the given rows along ``change`` and fit there; ``downhill`` is the slope.
    // Return false, and move nothing, if not even the shortest step has a fit.
    bool search(View<const Index> rows, View<const double> before, View<const double> change,
                double downhill) {
        for (double length = 1.0;; length *= 0.5) {
            move(rows, before, change, length);
            const std::vector<double> slope = scale_slope(rows);
            const double along = dot(slope, change);
            if (along <= -TURNED * downhill) return true;
            if (length > SHORTEST) continue;
            if (std::isfinite(along)) return true;
            move(rows, before, change, 0.0);
            return false;
        }
    }

    void move(View<const Index> rows, View<const double> before, View<const double> change,
              double length) {
        for (Index a = 0; a < rows.size(); ++a)
            scale_[rows[a]] =
                length > 0.0 ? std::max(before[a] + length * change[a], 0.0) : before[a];
        fit();
    }

    // Coefficients and gradient at the present scales.
    void fit() {
        active_.clear();
        root_.clear();
        for (Index i = 0; i < p_; ++i)
            if (scale_[i] != 0.0) {
                active_.push_back(i);
                root_.push_back(std::sqrt(scale_[i]));
            }
        const Index size = static_cast<Index>(active_.size());
        inverse_ = OwnCube<double>(G_.depth(), size, size);
        OwnMatrix<double> matrix(size, size), lower(size, size);
        const Own<double> target(size), solution(size), product(size);
        fill(coef_.view().flat(), 0.0);
        for (Index m = 0; m < G_.depth(); ++m) {
            for (Index a = 0; a < size; ++a) {
                const View<const double> line = G_[m][active_[a]];
                for (Index c = 0; c < size; ++c)
                    matrix(a, c) = root_[a] * root_[c] * line[active_[c]];
                matrix(a, a) += 1.0;
            }
            // At tiny lam rounding can make the matrix indefinite.
            if (!cholesky::factor(matrix, lower)) factor_with_ridge(matrix, lower);
            cholesky::invert(lower, inverse_[m]);
            for (Index j = m; j < (G_.depth() == 1 ? r_ : m + 1); ++j) {
                for (Index a = 0; a < size; ++a) target[a] = root_[a] * correlation_(j, active_[a]);
                multiply(inverse_[m], target, solution);
                // One step of refinement: at small lam the matrix is as ill-conditioned as the
                // data.
                multiply(matrix, solution, product);
                for (Index a = 0; a < size; ++a) target[a] -= product[a];
                multiply(inverse_[m], target, product);
                for (Index a = 0; a < size; ++a)
                    coef_(j, active_[a]) = root_[a] * (solution[a] + product[a]);
            }
        }
        gradient(G_, correlation_, coef_, grad_);
    }

    // Second derivatives of f on the active rows followed by entering ones, whose scale is 0; only
    // the lower triangle is filled.
    OwnMatrix<double> curvature(View<const Index> rows) const {
        const Index size = static_cast<Index>(active_.size()), entering = rows.size() - size;
        OwnMatrix<double> total(rows.size(), rows.size(), 0.0);
        OwnMatrix<double> slopes(r_, rows.size()), weight(rows.size(), rows.size());
        OwnMatrix<double> cross(entering, size), half(entering, size), whole(entering, entering);
        for (Index j = 0; j < r_; ++j)
            for (Index a = 0; a < rows.size(); ++a) slopes(j, a) = grad_(j, rows[a]);
        for (Index m = 0; m < G_.depth(); ++m) {
            fill(weight.view().flat(), 0.0);
            for (Index j = m; j < (G_.depth() == 1 ? r_ : m + 1); ++j)
                for (Index a = 0; a < rows.size(); ++a)
                    axpy(slopes(j, a), slopes[j], weight[a].first(a + 1));
            for (Index a = 0; a < size; ++a)
                for (Index c = 0; c <= a; ++c) {
                    const double rest = a != c ? -inverse_(m, a, c) : 1.0 - inverse_(m, a, a);
                    total(a, c) += weight(a, c) * rest / (root_[a] * root_[c]);
                }
            for (Index e = 0; e < entering; ++e)
                for (Index a = 0; a < size; ++a)
                    cross(e, a) = G_(m, rows[size + e], active_[a]) * root_[a];
            multiply(cross, inverse_[m], half);
            multiply_by_transposed(half, cross, whole);
            for (Index e = 0; e < entering; ++e) {
                const Index row = size + e;
                for (Index a = 0; a < size; ++a)
                    total(row, a) += weight(row, a) * half(e, a) / root_[a];
                for (Index d = 0; d <= e; ++d)
                    total(row, size + d) +=
                        weight(row, size + d) * (G_(m, rows[row], rows[size + d]) - whole(e, d));
            }
        }
        return total;
    }

    Cube<const double> G_;
    Matrix<const double> correlation_;
    double power_;
    double accuracy_;
    Index max_sweeps_;
    Index r_;
    Index p_;
    double rounding_ = 0.0;
    double lam_ = 0.0;
    KeptEstimate kept_;
    std::vector<double> scale_;       // (p,)
    std::vector<double> kept_scale_;  // (p,) of the estimate that is kept
    OwnMatrix<double> coef_;          // (r, p)
    OwnMatrix<double> grad_;          // (r, p)
    std::vector<Index> active_;       // rows of positive scale
    std::vector<double> root_;        // square roots of their scales
    OwnCube<double> inverse_;         // (1 or r, a, a) (I + S G_j S)^-1 on the active rows
};

Index l2_path(Cube<const double> G, Matrix<const double> correlation, double power,
              View<const double> lams, double accuracy, Index max_sweeps,
              View<const Index> max_support, View<const double> scale, Cube<double> coef,
              View<double> objective, View<double> gap) {
    Path path(G, correlation, power, accuracy, max_sweeps);
    path.start(scale);
    for (Index m = 0; m < lams.size(); ++m) {
        if (path.solve(lams[m]).write(coef[m], objective[m], gap[m]) > max_support[m]) return m + 1;
    }
    return lams.size();
}

}  // namespace

void bind(nb::module_ &module) { module.def("l2_path", &l2_path); }

}  // namespace greedyexp::l2_path
