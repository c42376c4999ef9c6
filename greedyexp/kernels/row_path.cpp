// Paths of row-penalised least squares; the contract is in row_path.py.
#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "casters.hpp"
#include "row_manifold.hpp"

namespace greedyexp::row_path {
namespace {

// A point is finished when its optimality conditions hold to this part of the penalty.
constexpr double PRECISION = 1e-10;
// After so many rounds without that (ill-conditioned data), the duality gap alone decides, and
// rounds are judged. After so many without progress, the point ends.
constexpr Index PATIENCE = 20;

// An estimate (p, r) with its number of nonzero entries, its objective and its duality gap.
struct Kept {
    OwnMatrix<double> coef;
    Index support;
    double objective;
    double gap;
};

class Path {
  public:
    Path(Cube<const double> G, Matrix<const double> correlation, double power, Index capacity,
         double accuracy, Index max_sweeps)
        : correlation_(correlation), power_(power), accuracy_(accuracy), max_sweeps_(max_sweeps),
          estimate_(G, correlation, capacity),
          kept_{OwnMatrix<double>(correlation.columns(), correlation.rows()), 0, 0.0, 0.0},
          gauge_(correlation.columns()), g_(correlation.rows()), h_(correlation.rows()),
          row_(correlation.rows()), kind_(correlation.rows()) {
        for (const double entry : correlation.flat())
            rounding_ = std::max(rounding_, 1e-15 * std::abs(entry));
    }

    // Begin with coefficients (p, r).
    void start(Matrix<const double> coef, double lam_s, double lam_b) {
        set_prices(lam_s, lam_b);
        estimate_.start(coef);
        keep(certificate());
    }

    // Move to the optimum for lower prices and return it.
    //
    // Lower prices lower the objective, and so does every round, except for rounding. Where
    // rounding prevents progress, the estimate of the smallest duality gap is returned, and the
    // next point starts from it.
    const Kept &solve(double lam_s, double lam_b) {
        set_prices(lam_s, lam_b);
        kept_.gap = UNKNOWN;
        double lowest = UNKNOWN;
        Index stalled = 0;
        for (Index sweep = 0; sweep < max_sweeps_ && stalled < PATIENCE; ++sweep) {
            handle_signals();
            estimate_.newton();
            estimate_.refresh_gradient();
            if (is_optimal()) {
                keep(certificate());
                return kept_;
            }
            if (sweep < PATIENCE && sweep + 1 < max_sweeps_) {
                release();
                continue;
            }
            const Certificate now = certificate();
            const auto [objective, gap] = now;
            const bool fell = objective <= kept_.objective + accuracy_;
            stalled = fell && (objective < lowest || gap < kept_.gap) ? 0 : stalled + 1;
            lowest = std::min(lowest, objective);
            if (fell && gap < kept_.gap) keep(now);
            if (kept_.gap <= accuracy_) return kept_;
            if (fell)
                release();
            else
                go_back();
        }
        go_back();
        return kept_;
    }

  private:
    // Objective and duality gap.
    using Certificate = std::pair<double, double>;

    static constexpr double UNKNOWN = std::numeric_limits<double>::infinity();

    void set_prices(double lam_s, double lam_b) {
        lam_s_ = lam_s;
        lam_b_ = lam_b;
        slack_ = PRECISION + rounding_ / lam_s;
        estimate_.set_prices(lam_s, lam_b);
    }

    Certificate certificate() const {
        return row_penalty::certificate(estimate_.coef(), estimate_.theta(), estimate_.grad(),
                                        correlation_, power_, lam_s_, lam_b_);
    }

    void keep(Certificate certificate) {
        fill(kept_.coef.view().flat(), 0.0);
        kept_.support = write_point(estimate_.coef(), kept_.coef);
        std::tie(kept_.objective, kept_.gap) = certificate;
    }

    // Return to the estimate that is kept, with a new factor.
    void go_back() {
        estimate_.start(kept_.coef);
        const Certificate now = certificate();
        if (now.second < kept_.gap) keep(now);
    }

    // Whether the optimality conditions hold; numbers that are not finite fail them.
    bool is_optimal() {
        row_penalty::gauges(estimate_.grad(), lam_s_, lam_b_, gauge_);
        return std::none_of(gauge_.begin(), gauge_.end(),
                            [&](double gauge) { return is_outside(gauge); }) &&
               estimate_.is_stationary(slack_ * lam_s_);
    }

    bool is_outside(double gauge) const { return !(gauge <= 1.0 + slack_); }

    // Update every row outside the dual unit set, exactly.
    //
    // Rows that leave the set only through the update of another wait for the next Newton step.
    void release() {
        for (Index i = 0; i < correlation_.columns(); ++i) {
            if (!is_outside(gauge_[i])) continue;
            for (Index j = 0; j < correlation_.rows(); ++j) {
                h_[j] = estimate_.gram_row(j, i)[i];
                g_[j] = h_[j] * estimate_.coef()(j, i) + estimate_.grad()(j, i);
            }
            const double theta = row_penalty::minimise(g_, h_, lam_s_, lam_b_, row_, kind_);
            estimate_.replace_row(i, row_, kind_, theta);
        }
    }

    Matrix<const double> correlation_;
    double power_;
    double accuracy_;
    Index max_sweeps_;
    double rounding_ = 0.0;
    double lam_s_ = 0.0;
    double lam_b_ = 0.0;
    double slack_ = 0.0;
    RowManifold estimate_;
    Kept kept_;
    std::vector<double> gauge_;  // of each row, at the last Newton step
    std::vector<double> g_;      // the problem of one row and its solution
    std::vector<double> h_;
    std::vector<double> row_;
    std::vector<row_penalty::Kind> kind_;
};

Index row_path(Cube<const double> G, Matrix<const double> correlation, double power,
               View<const double> lam_s, View<const double> lam_b, Index capacity, double accuracy,
               Index max_sweeps, View<const Index> max_support, Matrix<const double> start,
               Cube<double> coef, View<double> objective, View<double> gap) {
    Path path(G, correlation, power, capacity, accuracy, max_sweeps);
    path.start(start, lam_s[0], lam_b[0]);
    for (Index m = 0; m < lam_s.size(); ++m) {
        const Kept &found = path.solve(lam_s[m], lam_b[m]);
        copy<double>(found.coef.view().flat(), coef[m].flat());
        objective[m] = found.objective;
        gap[m] = found.gap;
        if (found.support > max_support[m]) return m + 1;
    }
    return lam_s.size();
}

}  // namespace

void bind(nb::module_ &module) { module.def("row_path", &row_path); }

}  // namespace greedyexp::row_path
