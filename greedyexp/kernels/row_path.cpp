// Paths of row-penalised least squares; the contract is in row_path.py.
#include <algorithm>
#include <utility>
#include <vector>

#include "casters.hpp"
#include "kept_estimate.hpp"
#include "row_manifold.hpp"

namespace greedyexp::row_path {
namespace {

// A point is finished when its optimality conditions hold to this part of the penalty.
constexpr double PRECISION = 1e-10;
// After so many rounds without that (ill-conditioned data), the duality gap alone decides, and
// rounds are judged.
constexpr Index PATIENCE = KeptEstimate::PATIENCE;

class Path {
  public:
    Path(Cube<const double> G, Matrix<const double> correlation, double power, Index capacity,
         double accuracy, Index max_sweeps)
        : G_(G), correlation_(correlation), power_(power), accuracy_(accuracy),
          max_sweeps_(max_sweeps), estimate_(G, correlation, capacity),
          kept_(correlation.columns(), correlation.rows()), gauge_(correlation.columns()),
          g_(correlation.rows()), h_(correlation.rows()), row_(correlation.rows()),
          kind_(correlation.rows()) {
        for (const double entry : correlation.flat())
            rounding_ = std::max(rounding_, 1e-15 * std::abs(entry));
    }

    // Begin with coefficients (p, r).
    void start(Matrix<const double> coef, double lam_s, double lam_b) {
        set_prices(lam_s, lam_b);
        estimate_.start(coef);
        keep();
    }

    // Move to the optimum for lower prices and return it.
    //
    // Every round lowers the objective, except for rounding. Where rounding prevents progress, the
    // estimate of the smallest duality gap is returned, and the next point starts from it.
    const KeptEstimate &solve(double lam_s, double lam_b) {
        set_prices(lam_s, lam_b);
        kept_.begin();
        for (Index sweep = 0; sweep < max_sweeps_ && !kept_.has_stalled(); ++sweep) {
            handle_signals();
            estimate_.newton();
            estimate_.refresh_gradient();
            if (is_optimal()) {
                keep();
                return kept_;
            }
            const bool judged = sweep >= PATIENCE || sweep + 1 == max_sweeps_;
            const bool fell = !judged || kept_.judge(estimate_.coef(), certificate(), accuracy_);
            if (kept_.gap() <= accuracy_) return kept_;
            if (fell)
                release();
            else
                go_back();
        }
        go_back();
        return kept_;
    }

  private:
    void set_prices(double lam_s, double lam_b) {
        lam_s_ = lam_s;
        lam_b_ = lam_b;
        slack_ = PRECISION + rounding_ / lam_s;
        estimate_.set_prices(lam_s, lam_b);
    }

    Certificate certificate() const {
        const auto [objective, gap] =
            row_penalty::certificate(estimate_.coef(), estimate_.theta(), estimate_.grad(),
                                     correlation_, power_, lam_s_, lam_b_);
        return {objective, gap + hidden_gap(G_, estimate_.coef())};
    }

    void keep() { kept_.keep(estimate_.coef(), certificate()); }

    // Return to the estimate that is kept, with a new factor.
    void go_back() {
        estimate_.start(kept_.coef());
        const Certificate now = certificate();
        if (now.second < kept_.gap()) kept_.keep(estimate_.coef(), now);
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

    Cube<const double> G_;
    Matrix<const double> correlation_;
    double power_;
    double accuracy_;
    Index max_sweeps_;
    double rounding_ = 0.0;
    double lam_s_ = 0.0;
    double lam_b_ = 0.0;
    double slack_ = 0.0;
    RowManifold estimate_;
    KeptEstimate kept_;
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
        const KeptEstimate &found = path.solve(lam_s[m], lam_b[m]);
        if (found.write(coef[m], objective[m], gap[m]) > max_support[m]) return m + 1;
    }
    return lam_s.size();
}

}  // namespace

void bind(nb::module_ &module) { module.def("row_path", &row_path); }

}  // namespace greedyexp::row_path
