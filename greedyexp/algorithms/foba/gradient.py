"""Greedy selection by the gradient: FoBa-gdt, and Forward-gdt without its backward steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.foba._path import Limits, bound_loss, greedy_path, selection
from greedyexp.estimates.path import Path
from greedyexp.losses.loss import Loss
from greedyexp.problems.problem import Problem
from greedyexp.solvers.greedy_rules import slope_rule

# Norms that differ by more than this factor are reported, see the notes of ``foba_gdt``.
_UNEVEN = 10.0


@selection(
    "foba_gdt",
    title="FoBa-gdt",
    paper="Liu, Fujimaki & Ye (2014), Algorithm 1",
    threshold="epsilon",
)
def foba_gdt(
    problem: Problem,
    *,
    loss: param.LossName = "squared",
    ridge: param.Ridge = 0.0,
    intercept: param.Intercept = False,
    epsilon: param.Epsilon = None,
    max_features: param.MaxFeatures = None,
    max_groups: param.MaxGroups = None,
    unit: param.Unit = "feature",
    backward_ratio: param.BackwardRatio = 0.5,
    visit: param.Visit = "last",
    beyond: param.Beyond = None,
    stop: param.StopRule = "optimum",
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Forward-backward greedy selection that takes the feature with the largest derivative.

    A forward step takes the feature j outside the support with the largest |grad_j Q| and refits
    all coefficients of the support. The decrease of Q is recorded for the new size k. Backward
    steps follow. Each drops the feature i of least cost Q(b - b_i e_i) - Q(b), the others left as
    they are, and refits the rest, while this cost is less than ``backward_ratio`` times the
    decrease recorded for the present size. The run ends before a forward step if
    max |grad_j Q| < epsilon, or if a limit is reached.

    Parameters
    ----------
    problem : Problem
        A problem with what the loss requires: one task, chains for ``crf``, or a covariance for
        ``logdet``.
    loss : str
        Name of a smooth loss (``greedyexp list losses``).
        ||y - X b||^2 / (2 n), the mean of log(1 + exp(-y_i x_i b)), or the negative
        log-likelihood of a linear chain per word.
    ridge : float >= 0
        ridge / 2 ||b||^2 is added; for ``crf`` it includes the transitions. The intercept has none.
    intercept : bool
        The intercept is refitted in every step, and never selected or dropped. ``crf`` has none:
        its transitions play this role.
    epsilon : float >= 0, optional
        Absolute threshold, for the loss as a mean over samples.
    max_features : int >= 1, optional
        End with this number of coefficients. If no limit is given, half of the smaller of the
        number of coefficients and the number of samples.
    max_groups : int >= 1, optional
        End before a step that uses more rows of the matrix of coefficients than this. A feature of
        a chain (a sensor) has a coefficient for each class, and is in use if one of them is.
    unit : {"feature", "group"}
        With ``group`` a step adds the row with the largest l2 norm of its derivatives, and the
        cost of dropping a row is that of setting it to zero; sizes and epsilon then refer to rows.
    backward_ratio : float in (0, 1]
        The paper uses 1/2.
    visit : {"last", "first"}
        The estimate for a limit on the size: the last state that a longer run visits with this
        size, or the state at which a run with this limit ends. See Notes.
    beyond : int >= 0, optional
        How many features, or groups, the run goes beyond a limit on the size with visit ``last``;
        by default as many again.
    stop : {"optimum", "theorem"}
        The epsilon that tuning by theory prescribes; no effect otherwise.
    grid : dict with one array, optional
        ``max_features``, ``max_groups`` or ``epsilon``: return one estimate for each value, which
        replaces that limit; the other limits stay.

    Returns
    -------
    Path
        The answers for max_features = 0, 1, ... up to the end of the run, or for max_groups if that
        is given or unit is ``group``; the last is the answer for the limits as given.
        ``objective`` is Q. ``facts`` are the ``additions`` and ``removals`` so far. ``history`` has
        one entry for each step up to the last answer: the feature, Q after it, and the goodness of
        a feature that was added or the cost of one that was dropped.

    Raises
    ------
    ConfigError
        If a limit is impossible for this problem, or the loss has no such option.
    DataError
        If the loss does not accept the data, or rounding undoes the gains of backward steps.

    Notes
    -----
    *Sizes.* Backward steps return to a size, and the loss is then lower than before. The paper
    continues a run beyond the largest size and takes the most recent state of each size (section
    4.1), which is the one of least loss. So does ``visit: last``; a larger ``beyond`` can only
    lower the loss further. With correlated features this matters: for 10 true features of 200,
    columns with correlation 0.9^|i - j| and 104 samples, the true support is found in 95% of data
    sets, and in 17% with ``visit: first``. The run takes about twice as long
    (``benchmarks/measure_visits.py``), and more if features beyond the limit separate classes and
    there is no ridge. Table 4 and Figure 4 of the paper were made with first
    states.

    *Units.* A derivative is proportional to the norm of its column, so a feature in small units is
    taken late. Norms should be similar: if they differ by a factor of 10, a feature with a small
    norm is taken only if it lowers the loss 100 times as much. ``message`` then says so. Scale the
    columns, or use ``foba_obj``, whose gains do not depend on units.

    *Ties* (equal to a relative precision of 1e-10): the lowest feature.

    *The limit of precision.* A feature has nothing to gain if its derivative is at most 1e-9 of the
    smaller of two numbers: the largest derivative at the fit without features, and sqrt(2 L_j Q),
    the largest possible derivative of this feature there, with L_j the largest curvature along j.
    The same is true if the gain that its derivative promises, g_j^2 / (2 L_j), is at most 1e-14 Q.
    Once the derivative of the best feature is at most 1e-6 of the largest one at that fit, such
    features are skipped, so a small column is not lost next to large ones. If no other feature
    is left, or a step lowers Q by at most 1e-14 of it, the run ends at the previous state and
    reports this.

    *Fits without a certificate* (separable classes and no ridge) end the path at the last state
    that has one. Answers for limits beyond are that state, not converged.

    *Termination.* When a backward step returns to a size, Q is below its value before the last
    forward step from there, since the dropped feature costs less than that step gained. So every
    run ends, although a support may recur. If rounding causes a return without a decrease of Q, an
    error is raised.

    *The listing* numbers states by k and changes k before using it. The text, followed here,
    compares with the decrease recorded when the present size was last reached from below.

    *Theory* prescribes epsilon = ||grad Q(b)||_inf at the minimiser b on the true support, as in
    the paper's experiments, increased by a millionth: a run that reaches that support ends there.
    With ``stop: theorem`` it is 2 sqrt(2) rho_+(1) / rho_- times that (Theorem 2), with rho_-
    measured on the union of the true support and that of the estimate; this is enough to bound the
    errors of the estimate (Theorem 5).

    References
    ----------
    J. Liu, R. Fujimaki, J. Ye, Forward-backward greedy algorithms for general convex smooth
    functions over a cardinality constraint, 2014, Algorithm 1.
    """
    limits = Limits("epsilon", epsilon, max_features, max_groups)
    bound = bound_loss(problem, limits, loss=loss, ridge=ridge, intercept=intercept, unit=unit)
    path = greedy_path(
        bound,
        slope_rule(unit),
        limits,
        grid=grid,
        ratio=backward_ratio,
        visit=visit,
        beyond=beyond,
    )
    return _with_remark(path, bound)


@selection(
    "forward_gdt",
    title="Forward-gdt",
    paper="Liu, Fujimaki & Ye (2014), Algorithm 1 without backward steps",
    threshold="epsilon",
)
def forward_gdt(
    problem: Problem,
    *,
    loss: param.LossName = "squared",
    ridge: param.Ridge = 0.0,
    intercept: param.Intercept = False,
    epsilon: param.Epsilon = None,
    max_features: param.MaxFeatures = None,
    max_groups: param.MaxGroups = None,
    unit: param.Unit = "feature",
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Forward greedy selection that takes the feature with the largest derivative.

    ``foba_gdt`` without its backward steps: take the feature j outside the support with the largest
    |grad_j Q| and refit all coefficients of the support, until max |grad_j Q| < epsilon or a limit
    is reached. With the squared loss it is ``omp`` with ``normalize`` false.

    Parameters
    ----------
    problem : Problem
        A problem with what the loss requires: one task, chains for ``crf``, or a covariance for
        ``logdet``.
    loss, ridge, intercept, max_features, max_groups
        The loss and the limits, as in ``foba_gdt``.
    epsilon : float >= 0, optional
        Absolute threshold, for the loss as a mean over samples.
    unit : {"feature", "group"}
        With ``group`` a step adds the row with the largest l2 norm of its derivatives; sizes and
        epsilon then refer to rows.
    grid : dict with one array, optional
        ``max_features``, ``max_groups`` or ``epsilon``: return one estimate for each value, which
        replaces that limit; the other limits stay.

    Returns
    -------
    Path
        The answers for max_features = 0, 1, ... up to the end of the run, or for max_groups if that
        is given or unit is ``group``; the last is the answer for the limits as given.
        ``objective`` is Q. ``facts`` are the ``additions`` and ``removals`` so far. ``history`` has
        one entry for each step: the feature, Q after it, and the goodness of a feature that was
        added or the cost of one that was dropped.

    Raises
    ------
    ConfigError
        If a limit is impossible for this problem, or the loss has no such option.
    DataError
        If the loss does not accept the data.

    Notes
    -----
    Ties, the limit of precision, fits without a certificate and the threshold of theory are as in
    ``foba_gdt``.

    References
    ----------
    J. Liu, R. Fujimaki, J. Ye, Forward-backward greedy algorithms for general convex smooth
    functions over a cardinality constraint, 2014, section 5.
    """
    limits = Limits("epsilon", epsilon, max_features, max_groups)
    bound = bound_loss(problem, limits, loss=loss, ridge=ridge, intercept=intercept, unit=unit)
    return _with_remark(greedy_path(bound, slope_rule(unit), limits, grid=grid), bound)


def _with_remark(path: Path, loss: Loss) -> Path:
    """Return a path with a remark if the norms of columns differ too much for derivatives."""
    powers = loss.smoothness[: loss.size] - loss.ridge
    powers = powers[np.isfinite(powers) & (powers > 0.0)]
    if not len(powers) or powers.max() <= _UNEVEN**2 * powers.min():
        return path
    factor = np.sqrt(powers.max() / powers.min())
    remark = (
        f"The norms of the columns differ by a factor of {factor:.2g}, and selection by the"
        " derivative prefers large ones. Scale the columns, or select by the gain."
    )
    return replace(path, message=f"{path.message} {remark}".lstrip())
