"""Bind a risk: a loss without an intercept, over the rows of a problem or over its distribution."""

from __future__ import annotations

from greedyexp.core.errors import ConfigError, DataError, UserError
from greedyexp.losses.binding import check_ridge, has_risk, kind_of
from greedyexp.losses.loss import Loss
from greedyexp.losses.population import PopulationSquaredLoss
from greedyexp.problems.checks import check_feature_sizes
from greedyexp.problems.problem import Problem

LEAST_BETA, MOST_BETA = 1e-100, 1e100


def bind_risk(
    name: str,
    problem: Problem,
    *,
    ridge: float = 0.0,
    beta: float | None = None,
    population: bool = False,
) -> Loss:
    """Return the risk of a loss over the rows of a problem or over its distribution.

    Parameters
    ----------
    name : str
        Name of a registered loss of one response, such as "hinge". If the response has two
        values, the higher counts as 1 and the lower as -1.
    problem : Problem
        A problem with one task, and with moments if ``population`` is true.
    ridge : float >= 0
    beta : float > 0, optional
        Smoothness of a loss that needs smoothing; the other losses have their own.
    population : bool
        Whether to take the expectation under the distribution, which is known for least
        squares.

    Raises
    ------
    ConfigError
        For the reasons given in ``bind``; also if beta is missing, not accepted, or not positive
        and finite, or if the population risk is requested for a loss other than least squares.
    DataError
        For the reasons given in ``bind``; also if the moments of the distribution are unknown, or
        if there are no rows to average over.
    """
    refusal = risk_refusal(
        name,
        beta=beta,
        population=population,
        n_tasks=problem.n_tasks,
        n_samples=problem.n_samples[0],
    )
    if refusal is not None:
        raise refusal
    check_ridge(ridge)
    if population:
        if problem.moments is None:
            raise DataError(
                "the moments of the distribution are not known.",
                remedy="Take the mean over the rows, or use data with known moments.",
            )
        return PopulationSquaredLoss(problem.moments, ridge=ridge)
    kind = kind_of(name, has_risk)
    check_feature_sizes(problem.X[0], problem.feature_names, problem.columns[0])
    option = {"beta": beta} if kind.smoothed else {"intercept": False}
    return kind.function(problem, ridge=ridge, **option)


def risk_refusal(
    name: str, *, beta: float | None, population: bool, n_tasks: int, n_samples: int
) -> UserError | None:
    """Return the error if no problem of this shape has such a risk, otherwise None.

    Parameters
    ----------
    name, beta, population : see ``bind_risk``
    n_tasks, n_samples : int
        Sizes of the problem.
    """
    try:
        kind = kind_of(name, has_risk)
    except ConfigError as error:
        return error
    if population and not kind.least_squares:
        return ConfigError(
            f"the expected {name} loss of a distribution is not known.",
            remedy="Use the squared loss, or take the mean over the rows.",
        )
    if not population and n_samples == 0:
        return DataError(
            "there are no rows to take a mean over.", remedy="Draw some, or give risk: population."
        )
    if kind.smoothed and beta is None:
        return ConfigError(
            f"the {name} loss is not smooth.", remedy="Give beta, the smoothness to use."
        )
    if not kind.smoothed and beta is not None:
        return ConfigError(f"the {name} loss is already smooth.", remedy="Leave beta out.")
    if beta is not None and not LEAST_BETA <= beta <= MOST_BETA:
        return ConfigError(
            f"beta must be a number > 0, from {LEAST_BETA:g} to {MOST_BETA:g}, but is {beta!r}."
        )
    return kind.refusal(n_tasks=n_tasks, intercept=False)
