// Paths of row-penalised least squares; the contract is in row_path.py.
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "casters.hpp"
#include "row_manifold.hpp"

namespace greedyexp::row_path {
namespace {

// A point is finished when its optimality conditions hold to this part of the penalty.
constexpr double PRECISION = 1e-10;
// After so many rounds without that (ill-conditioned data), the duality gap alone decides.
constexpr Index PATIENCE = 20;

class Path {
  public:
    Path(Cube<const double> G, Matrix<const double> correlation, double power, Index capacity,
         double accuracy, Index max_sweeps)
        : correlation_(correlation), power_(power), accuracy_(accuracy), max_sweeps_(max_sweeps),
          estimate_(G, correlation, capacity), gauge_(correlation.columns()),
          g_(correlation.rows()), h_(correlation.rows()), row_(correlation.rows()),
          kind_(correlation.rows()) {
        for (const double entry : correlation.flat())
            rounding_ = std::max(rounding_, 1e-15 * std::abs(entry));
    }

    Matrix<const double> coef() const { return estimate_.coef(); }

    // Begin with other coefficients (p, r) than zero.
    void start(Matrix<const double> coef, double lam_s, double lam_b) {
        estimate_.set_prices(lam_s, lam_b);
        estimate_.start(coef);
    }

    // Move to the optimum for the prices and compute its gradient afresh.
    void solve(double lam_s, double lam_b) {
        lam_s_ = lam_s;
        lam_b_ = lam_b;
        slack_ = PRECISION + rounding_ / lam_s;
        estimate_.set_prices(lam_s, lam_b);
        for (Index sweep = 0; sweep < max_sweeps_; ++sweep) {
            handle_signals();
            estimate_.newton();
            estimate_.refresh_gradient();
            row_penalty::gauges(estimate_.grad(), lam_s, lam_b, gauge_);
            const bool outside = std::any_of(gauge_.begin(), gauge_.end(),
                                             [&](double gauge) { return is_outside(gauge); });
            if (!outside && estimate_.stationarity() <= slack_ * lam_s) return;
            if (sweep >= PATIENCE && certificate().second <= accuracy_) return;
            release();
        }
        estimate_.refresh_gradient();
    }

    std::pair<double, double> certificate() const {
        return row_penalty::certificate(estimate_.coef(), estimate_.theta(), estimate_.grad(),
                                        correlation_, power_, lam_s_, lam_b_);
    }

  private:
    bool is_outside(double gauge) const { return gauge > 1.0 + slack_; }

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
        path.solve(lam_s[m], lam_b[m]);
        std::tie(objective[m], gap[m]) = path.certificate();
        if (write_point(path.coef(), coef[m]) > max_support[m]) return m + 1;
    }
    return lam_s.size();
}

}  // namespace

void bind(nb::module_ &module) { module.def("row_path", &row_path); }

}  // namespace greedyexp::row_path
