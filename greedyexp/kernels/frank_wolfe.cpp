// Forward greedy steps over an l1 ball; the contracts are in frank_wolfe.py.
//
// A step w <- (1 - eta) w + eta s B e_j needs the gradient theta of the risk at w. Each kind of
// risk updates what is cheap to update. Rounding errors add up, so everything is computed afresh
// from w at intervals and to confirm that a gap is reached.
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "casters.hpp"
#include "gram_rows.hpp"
#include "linear_algebra.hpp"
#include "scalar_losses.hpp"

namespace greedyexp::frank_wolfe {
namespace {

// A gap this near to its target, relative to the largest possible gap, is computed afresh.
constexpr double DOUBT = 1e-13;
// Rounding error of a gap, relative to the gap at zero.
constexpr double ROUNDING = 4.0 * std::numeric_limits<double>::epsilon();
// A slope along a line counts as zero at this part of the slope at the start of the line.
constexpr double FLAT = 1e-13;
constexpr int MOST_TRIALS = 200;

// max |grad_j| and the lowest j that attains it.
std::pair<double, Index> steepest(View<const double> grad) {
    const double most = largest_size(grad);
    for (Index i = 0; i < grad.size(); ++i)
        if (std::abs(grad[i]) >= most) return {most, i};
    return {most, 0};
}

// The ball, and the rule of the step lengths.
struct Settings {
    double radius;      // B
    double smoothness;  // of the risk, by the l1 norm
    bool exact;         // whether steps end at the minimum along their direction

    // The step length of the paper.
    double paper(double gap) const { return along(gap, 4.0 * smoothness * radius * radius); }
    // The minimum over [0, 1] of a parabola with the slope ``-gap`` at zero.
    static double along(double gap, double curvature) {
        return gap >= curvature ? 1.0 : gap / curvature;
    }
};

// A point w of d coordinates, and the gradient theta of the risk there.
struct Point {
    std::vector<double> coef, grad;
};

// coef <- (1 - eta) coef, and entry j <- value.
void shrink(double eta, Index j, double value, View<double> coef) {
    const double keep = 1.0 - eta;
    for (double &entry : coef) entry = keep * entry + 0.0;  // no negative zeros
    coef[j] = value;
}

// The risk w^T H w / 2 - c^T w + constant. A step turns the gradient theta = H w - c into
// (1 - eta) theta + eta (s B H_j - c), at the cost of a column of H.
//
// Column j of H is ``scale[j] * rows[j] + bump[j] e_j``, or ``scale[j] * rows[0] + bump[j] e_j`` if
// there is a single row. The rows may be those of a Gram matrix, computed when they are needed.
class Quadratic {
  public:
    Quadratic(Matrix<const double> rows, View<const double> scale, View<const double> bump,
              View<const double> cross)
        : rows_(rows), scale_(scale), bump_(bump), cross_(cross), column_(cross.size()) {}
    Quadratic(GramRows &gram, View<const double> scale, View<const double> bump,
              View<const double> cross)
        : Quadratic(Matrix<const double>(), scale, bump, cross) {
        gram_ = &gram;
    }

    Index size() const { return cross_.size(); }
    // Number of steps between two fresh gradients: a constant, and a number for each feature, which
    // keeps the cost of fresh gradients small compared with that of the steps.
    Index refresh_interval() const { return 1000 + 8 * size(); }

    // out = H w - c, computed from w alone
    void gradient(View<const double> coef, View<double> out) {
        for (Index i = 0; i < size(); ++i) out[i] = bump_[i] * coef[i] - cross_[i];
        if (rows_.rows() == 1) {
            axpy(dot(scale_, coef), rows_[0], out);
            return;
        }
        held_.clear();
        for (Index j = 0; j < size(); ++j)
            if (scale_[j] * coef[j] != 0.0) held_.push_back(j);
        const View<const Index> held = held_;
        for (Index first = 0; first < held.size(); first += GramRows::BATCH) {
            const auto some =
                held.from(first).first(std::min(GramRows::BATCH, held.size() - first));
            if (gram_) gram_->require(some);
            for (const Index j : some)
                axpy(scale_[j] * coef[j], gram_ ? (*gram_)[j] : rows_[j], out);
        }
    }
    void refresh(Point &point) { gradient(point.coef, point.grad); }

    // Prepare the step to ``vertex`` e_j and return its length.
    double aim(const Point &point, Index j, double vertex, double gap, const Settings &settings) {
        const double *row = row_of(j, point.grad).data(), *cross = cross_.data();
        const double weight = vertex * scale_[j];
        double *__restrict column = column_.data();
        for (Index i = 0; i < size(); ++i) column[i] = weight * row[i] - cross[i];
        column[j] += vertex * bump_[j];
        if (!settings.exact) return settings.paper(gap);
        const double *coef = point.coef.data(), *grad = point.grad.data();
        // v^T H v of the direction v = vertex e_j - w
        const double curvature = vertex * (column[j] - grad[j]) - sum(size(), [=](Index i) {
                                     return coef[i] * (column[i] - grad[i]);
                                 });
        return Settings::along(gap, curvature);
    }

    // Make the step prepared last.
    void move(Point &point, double eta, Index j, double value) const {
        const double keep = 1.0 - eta, *column = column_.data();
        double *__restrict grad = point.grad.data();
        for (Index i = 0; i < size(); ++i) grad[i] = keep * grad[i] + eta * column[i];
        shrink(eta, j, value, point.coef);
    }

  private:
    // The steepest features will be needed soon.
    View<const double> row_of(Index j, View<const double> grad) {
        if (!gram_) return rows_[rows_.rows() > 1 ? j : 0];
        if (!gram_->has(j)) {
            for (Index i = 0; i < size(); ++i) column_[i] = std::abs(grad[i]);
            gram_->require(j, column_);
        }
        return (*gram_)[j];
    }

    Matrix<const double> rows_;  // (d, d) or (1, d)
    GramRows *gram_ = nullptr;   // the rows, if they are not in ``rows_``
    std::vector<Index> held_;    // scratch
    View<const double> scale_;
    View<const double> bump_;
    View<const double> cross_;    // c
    std::vector<double> column_;  // s B H_j - c
};

// The risk mean_i L(<x_i, w>, y_i) + ridge / 2 ||w||^2. A step moves the predictions by a column of
// the design, and one pass over the design gives the gradient. Equal columns, and columns that are
// the negatives of others, have equal derivatives to the last digit, since ``dot`` adds in a fixed
// order; so rounding cannot break a tie between them.
class MeanLoss {
  public:
    MeanLoss(Matrix<const double> atoms, View<const double> response, int kind, double beta,
             double ridge)
        : atoms_(atoms), response_(response), kind_(kind), beta_(beta), ridge_(ridge),
          predictions_(atoms.columns(), 0.0), slope_(atoms.columns()), moves_(atoms.columns()) {}

    Index size() const { return atoms_.rows(); }
    // Number of steps between two fresh predictions.
    Index refresh_interval() const { return 1000; }

    // out = the gradient at w, computed from w alone
    void gradient(View<const double> coef, View<double> out) {
        predict(coef, moves_);
        gradient(moves_, coef, out);
    }
    void refresh(Point &point) {
        predict(point.coef, predictions_);
        gradient(predictions_, point.coef, point.grad);
    }

    // Prepare the step to ``vertex`` e_j and return its length.
    double aim(const Point &point, Index j, double vertex, double gap, const Settings &settings) {
        const double *atom = atoms_[j].data(), *predictions = predictions_.data();
        double *__restrict moves = moves_.data();
        for (Index i = 0; i < rows(); ++i) moves[i] = vertex * atom[i] - predictions[i];
        if (!settings.exact) return settings.paper(gap);
        return line(bend(point.coef, j, vertex), gap);
    }

    // Make the step prepared last.
    void move(Point &point, double eta, Index j, double value) {
        axpy(eta, moves_, predictions_);
        shrink(eta, j, value, point.coef);
        gradient(predictions_, point.coef, point.grad);
    }

  private:
    Matrix<const double> atoms_;  // (d, n): columns of the design
    View<const double> response_;
    int kind_;     // of the loss, see ``scalar_losses``
    double beta_;  // of the loss
    double ridge_;
    std::vector<double> predictions_;  // X w
    std::vector<double> slope_;        // scratch, derivatives of the loss
    std::vector<double> moves_;        // s B X_j - X w, or other predictions

    Index rows() const { return atoms_.columns(); }

    // out = X w
    void predict(View<const double> coef, View<double> out) const {
        fill(out, 0.0);
        for (Index j = 0; j < size(); ++j)
            if (coef[j] != 0.0) axpy(coef[j], atoms_[j], out);
    }

    // out = X^T L'(predictions) / n + ridge w
    void gradient(View<const double> predictions, View<const double> coef, View<double> out) {
        scalar_losses::slopes(kind_, beta_, predictions, response_, slope_);
        multiply(atoms_, slope_, out);
        const double n = static_cast<double>(rows());
        for (Index i = 0; i < size(); ++i) out[i] = out[i] / n + ridge_ * coef[i];
    }

    // ridge ||v||^2 of the direction v = vertex e_j - w
    double bend(View<const double> coef, Index j, double vertex) const {
        const double off = vertex - coef[j];
        const double total = off * off - coef[j] * coef[j] + dot(coef, coef);
        return ridge_ * std::max(total, 0.0);
    }

    // The slope of the mean of the losses at ``eta``, less that where the line begins.
    double rise(double eta, double start) const {
        const double *predictions = predictions_.data(), *moves = moves_.data();
        const double *response = response_.data(), beta = beta_;
        const double total = scalar_losses::with_constant(kind_, [=, this](auto kind) {
            return sum(rows(), [=](Index i) {
                const double moved = predictions[i] + eta * moves[i];
                return scalar_losses::slope(kind, moved, response[i], beta) * moves[i];
            });
        });
        return total / static_cast<double>(rows()) - start;
    }

    // The minimum of the risk over [0, 1] along v = vertex e_j - w; the slope at 0 is minus
    // ``gap``, and ``bend`` is ridge ||v||^2.
    //
    // The root of the slope is bracketed and approximated by chords. If an end of the bracket stays
    // for two steps in a row, the value there is halved (the Illinois rule), which closes the
    // bracket from both sides.
    double line(double bend, double gap) const {
        const double start = rise(0.0, 0.0);
        double left = 0.0, at_left = -gap;
        double right = 1.0, at_right = bend - gap + rise(1.0, start);
        if (at_right <= 0.0) return 1.0;
        int stayed = 0;
        for (int trial = 0; trial < MOST_TRIALS; ++trial) {
            const double eta = left - at_left * (right - left) / (at_right - at_left);
            if (!(left < eta && eta < right)) return left;
            const double value = eta * bend - gap + rise(eta, start);
            if (std::abs(value) <= FLAT * gap) return eta;
            if (value < 0.0) {
                left = eta;
                at_left = value;
                at_right *= stayed > 0 ? 0.5 : 1.0;
                stayed = 1;
            } else {
                right = eta;
                at_right = value;
                at_left *= stayed < 0 ? 0.5 : 1.0;
                stayed = -1;
            }
        }
        return left;
    }
};

// A run from zero, paused between two steps.
template <class Risk>
class Run {
  public:
    Run(Risk risk, Settings settings) : risk_(std::move(risk)), settings_(settings) {
        const double radius = settings.radius;
        point_.coef.resize(risk_.size());
        point_.grad.resize(risk_.size());
        other_.resize(risk_.size());
        refresh();
        const double most = steepest(point_.grad).first;
        gap_ = radius * most;
        doubt_ = DOUBT * radius * (most + settings.smoothness * radius);
        rounding_ = ROUNDING * radius * most;
    }

    std::vector<double> &coef() { return point_.coef; }
    std::vector<double> &grad() { return point_.grad; }
    double gap() const { return gap_; }
    double doubt() const { return doubt_; }
    Index steps() const { return steps_; }
    bool ended() const { return ended_; }

    double fresh_gap() {
        risk_.gradient(point_.coef, other_);
        return gap_of(other_).first;
    }

    void advance(Index until, double target) {
        std::vector<double> &coef = point_.coef;
        while (!ended_) {
            handle_signals();
            const auto [gap, j] = gap_of(point_.grad);
            if (age_ > 0 && (gap <= rounding_ || age_ >= risk_.refresh_interval())) {
                refresh();
                continue;
            }
            gap_ = gap;
            if (steps_ >= until) return;
            if (target > 0.0 && gap <= target + doubt_ && fresh_gap() <= target) return;
            const double vertex = -std::copysign(settings_.radius, point_.grad[j]);
            const double eta = risk_.aim(point_, j, vertex, gap, settings_);
            const double value = (1.0 - eta) * coef[j] + eta * vertex;
            if (gap <= rounding_ || (1.0 - eta == 1.0 && value == coef[j])) {
                ended_ = age_ == 0;
                refresh();
                continue;
            }
            risk_.move(point_, eta, j, value);
            ++steps_;
            ++age_;
        }
    }

  private:
    Risk risk_;
    Settings settings_;
    Point point_;
    std::vector<double> other_;  // scratch, another gradient
    double gap_ = 0.0;
    double doubt_ = 0.0;     // largest error of the gap by rounding
    double rounding_ = 0.0;  // a gap that is only rounding
    Index steps_ = 0;
    Index age_ = 0;  // steps since a refresh
    bool ended_ = false;

    // <theta, w> + B max |theta|, and the lowest coordinate that attains the maximum.
    std::pair<double, Index> gap_of(View<const double> grad) const {
        const auto [most, j] = steepest(grad);
        return {dot(grad, point_.coef) + settings_.radius * most, j};
    }

    void refresh() {
        risk_.refresh(point_);
        age_ = 0;
    }
};

class QuadraticRun : public Run<Quadratic> {
  public:
    QuadraticRun(Matrix<const double> rows, View<const double> scale, View<const double> bump,
                 View<const double> cross, double radius, double smoothness, bool exact)
        : Run(Quadratic(rows, scale, bump, cross), {radius, smoothness, exact}) {}
    QuadraticRun(GramRows &rows, View<const double> scale, View<const double> bump,
                 View<const double> cross, double radius, double smoothness, bool exact)
        : Run(Quadratic(rows, scale, bump, cross), {radius, smoothness, exact}) {}
};

class MeanLossRun : public Run<MeanLoss> {
  public:
    MeanLossRun(Matrix<const double> atoms, View<const double> response, int kind, double beta,
                double ridge, double radius, double smoothness, bool exact)
        : Run(MeanLoss(atoms, response, kind, beta, ridge), {radius, smoothness, exact}) {}
};

template <class Bound>
nb::class_<Bound> bind_run(nb::module_ &module, const char *name) {
    return nb::class_<Bound>(module, name)
        .def("advance", &Bound::advance)
        .def("fresh_gap", &Bound::fresh_gap)
        .def_prop_ro("coef", [](Bound &self) { return shown(self.coef()); })
        .def_prop_ro("grad", [](Bound &self) { return shown(self.grad()); })
        .def_prop_ro("gap", &Bound::gap)
        .def_prop_ro("doubt", &Bound::doubt)
        .def_prop_ro("steps", &Bound::steps)
        .def_prop_ro("ended", &Bound::ended);
}

}  // namespace

// Runs refer to the memory of their arrays, so these are never converted.
void bind(nb::module_ &module) {
    bind_run<QuadraticRun>(module, "QuadraticRun")
        .def(nb::init<Matrix<const double>, View<const double>, View<const double>,
                      View<const double>, double, double, bool>(),
             nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
             nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::keep_alive<1, 2>(),
             nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>())
        .def(nb::init<GramRows &, View<const double>, View<const double>, View<const double>,
                      double, double, bool>(),
             nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
             nb::arg(), nb::arg(), nb::arg(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
             nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>());
    bind_run<MeanLossRun>(module, "MeanLossRun")
        .def(nb::init<Matrix<const double>, View<const double>, int, double, double, double, double,
                      bool>(),
             nb::arg().noconvert(), nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg(), nb::arg(), nb::arg(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());
}

}  // namespace greedyexp::frank_wolfe
