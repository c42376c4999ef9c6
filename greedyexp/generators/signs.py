"""Features that are signs: independent, correlated or duplicated, with exact moments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal

import numpy as np
import scipy
from pydantic import Field

from greedyexp.core.registry import generator
from greedyexp.generators._regression import shape
from greedyexp.problems.checks import LARGEST
from greedyexp.problems.moments import DenseMoments, Moments, SpreadMoments
from greedyexp.problems.problem import Problem, shared_design_shape

# Largest number of features with a dense matrix E[x x^T], which then takes 134 MB.
_MOST_DENSE = 4096
# Largest number of features, and of values of a design.
MOST_FEATURES = 10_000_000
_MOST_VALUES = 2_000_000_000
# A coefficient smaller than this fraction of the largest would be lost in rounding.
_LEAST_SHARE = 1e-15

Samples = Annotated[
    int, Field(ge=0, description="number of observations, n; 0 for the distribution only")
]
Features = Annotated[int, Field(ge=1, description="number of features")]
Sparsity = Annotated[int, Field(ge=1, description="number of nonzero coefficients")]
L1Norm = Annotated[float, Field(gt=0, le=LARGEST, description="l1 norm of the true coefficients")]
Decay = Annotated[
    float,
    Field(gt=0, le=1, description="ratio of the size of each true coefficient to the previous one"),
]
NoiseStd = Annotated[
    float,
    Field(ge=0, le=LARGEST, description="standard deviation of the noise on a linear response"),
]
Response = Annotated[
    Literal["linear", "classes"],
    Field(description="<truth, x> plus noise, or 1 and -1 with these log-odds"),
]


def check(*, n_samples, p, sparsity, decay, noise_std, response, copies=1, **_) -> None:
    """Raise ValueError if the values of parameters are impossible together."""
    check_samples(n_samples)
    features = p * copies
    if features > MOST_FEATURES:
        raise ValueError(f"more than {MOST_FEATURES} features in all: lower p.")
    if n_samples * features > _MOST_VALUES:
        raise ValueError(
            f"more than {_MOST_VALUES:g} values of {features} features: lower n_samples or p."
        )
    if sparsity > p:
        raise ValueError(f"sparsity = {sparsity} is more than p = {p}.")
    smallest = decay ** (sparsity - 1)
    if smallest < _LEAST_SHARE:
        raise ValueError(
            f"decay = {decay:g} leaves the smallest of {sparsity} coefficients {smallest:.1e} times"
            f" the largest, which must be at least {_LEAST_SHARE:g}."
        )
    if response == "classes" and noise_std > 0:
        raise ValueError("classes are drawn by their probabilities: omit noise_std.")
    if response == "classes" and n_samples == 0:
        raise ValueError(
            "the moments of classes are not known: give n_samples of at least 2, or"
            " response: linear."
        )


def check_samples(n_samples: int) -> None:
    """Raise ValueError for a single row."""
    if n_samples == 1:
        raise ValueError("n_samples = 1: give at least 2, or 0 for the distribution only.")


def _check_dense(n_samples: int, n_features: int) -> None:
    """Raise ValueError if there are no samples and too many features to compute the moments."""
    if n_samples == 0 and n_features > _MOST_DENSE:
        raise ValueError(
            f"moments are computed for at most {_MOST_DENSE} features, not {n_features}:"
            " give n_samples of at least 2, or fewer features."
        )


def traits(n_samples: int, response: str, *, moments: bool = True) -> tuple[str, ...]:
    """Return the traits of a problem; ``moments`` tells if a linear response has known moments."""
    if response == "classes":
        return ("truth", "labels")
    known = ("moments",) if moments else ()
    return ("truth", "noise_std", *known, *(() if n_samples else ("population",)))


def draw_signs(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Draw independent values, -1 or 1 with equal probability."""
    return 2.0 * rng.integers(0, 2, size=shape) - 1.0


def draw_flips(rng: np.random.Generator, probability: float, *shape: int) -> np.ndarray:
    """Draw independent values, -1 with the given probability and 1 otherwise."""
    return np.where(rng.random(shape) < probability, -1.0, 1.0)


def draw_truth(
    rng: np.random.Generator, p: int, sparsity: int, truth_l1_norm: float, decay: float
) -> np.ndarray:
    """Draw coefficients (p, 1) with the given l1 norm on a uniformly drawn support.

    Signs are uniform. In the order of the draw, each size is ``decay`` times the previous one.
    """
    support = rng.choice(p, size=sparsity, replace=False)
    sizes = decay ** np.arange(sparsity)
    truth = np.zeros((p, 1))
    truth[support, 0] = truth_l1_norm * sizes / sizes.sum() * draw_signs(rng, sparsity)
    return truth


def spread_moments(alpha: float, u: float, truth: np.ndarray, noise_std: float) -> SpreadMoments:
    """Moments of a linear response to features with E[x x^T] = alpha I + u^2 11^T."""
    w = truth[:, 0]
    cross = alpha * w + u * u * w.sum()
    power = float(w @ cross) + noise_std**2
    return SpreadMoments(np.full(len(w), alpha), np.full(len(w), u), cross, power)


def _dense_moments(
    matrix: Callable[[], np.ndarray], truth: np.ndarray, noise_std: float
) -> DenseMoments | None:
    """Moments of a linear response to features with this E[x x^T]; None for many features."""
    if len(truth) > _MOST_DENSE:
        return None
    second = matrix()
    support = np.flatnonzero(truth[:, 0])
    cross = second[:, support] @ truth[support, 0]
    power = float(truth[:, 0] @ cross) + noise_std**2
    return DenseMoments(second, cross, power)


def _sign_problem(
    rng: np.random.Generator,
    X: np.ndarray,
    truth: np.ndarray,
    moments: Callable[[np.ndarray, float], Moments | None],
    *,
    noise_std: float,
    response: str,
    facts: dict | None = None,
) -> Problem:
    """Draw the responses to a truth (d, 1); without rows nothing is drawn.

    Parameters
    ----------
    X : array (n, d)
    moments : callable
        ``moments(truth, noise_std)`` returns the moments of a linear response, or None if they are
        not known.
    """
    y = X @ truth[:, 0]
    linear = response == "linear"
    if linear:
        y += noise_std * rng.standard_normal(len(X))
    else:
        y = np.where(rng.random(len(X)) < scipy.special.expit(y), 1.0, -1.0)
    return Problem(
        (X,),
        (y,),
        truth,
        noise_std if linear else None,
        int(np.count_nonzero(truth)),
        facts=facts or {},
        moments=moments(truth, noise_std) if linear else None,
    )


@generator(
    "rademacher",
    title="Independent signs",
    paper="Shalev-Shwartz, Srebro & Zhang 2009",
    provides=lambda *, n_samples, response, **_: traits(n_samples, response),
    check=check,
    shape=shape,
)
def rademacher(
    rng: np.random.Generator,
    *,
    n_samples: Samples = 200,
    p: Features = 100,
    sparsity: Sparsity = 10,
    truth_l1_norm: L1Norm = 1.0,
    decay: Decay = 1.0,
    noise_std: NoiseStd = 0.0,
    response: Response = "linear",
) -> Problem:
    """Rows uniform on {-1, 1}^p, with a sparse truth of the given l1 norm.

    Since E[x x^T] = I, the risk of least squares under the distribution is
    R(w) = R(truth) + ||w - truth||^2 / 2, with R(truth) = noise_std^2 / 2. A linear response is
    <truth, x> plus Gaussian noise; of two classes, 1 has probability 1 / (1 + exp(-<truth, x>)).

    The sizes of the true coefficients decrease by the factor ``decay`` from each to the next, in
    random order; support and signs are random too. With ``n_samples: 0`` there are no rows, only
    the second moments of a linear response.
    """
    truth = draw_truth(rng, p, sparsity, truth_l1_norm, decay)
    X = draw_signs(rng, n_samples, p)
    moments = partial(spread_moments, 1.0, 0.0)
    return _sign_problem(rng, X, truth, moments, noise_std=noise_std, response=response)


def _check_correlated(*, n_samples, p, kind, correlation, **others) -> None:
    check(n_samples=n_samples, p=p, **others)
    if kind == "equicorrelated" and correlation < 0:
        raise ValueError(
            f"correlation = {correlation:g}: equicorrelated signs cannot have a negative"
            " correlation."
        )
    if kind == "toeplitz":
        _check_dense(n_samples, p)


@generator(
    "correlated",
    title="Correlated signs",
    paper="Shalev-Shwartz, Srebro & Zhang 2009",
    provides=lambda *, n_samples, p, kind, response, **_: traits(
        n_samples, response, moments=kind == "equicorrelated" or p <= _MOST_DENSE
    ),
    check=_check_correlated,
    shape=shape,
)
def correlated(
    rng: np.random.Generator,
    *,
    n_samples: Samples = 200,
    p: Features = 100,
    kind: Annotated[
        Literal["equicorrelated", "toeplitz"],
        Field(description="second moments: all rho, or rho^|i-j| along a chain"),
    ] = "toeplitz",
    correlation: Annotated[
        float, Field(gt=-1, lt=1, description="rho, the second moment of two neighbours")
    ] = 0.5,
    sparsity: Sparsity = 10,
    truth_l1_norm: L1Norm = 1.0,
    decay: Decay = 1.0,
    noise_std: NoiseStd = 0.0,
    response: Response = "linear",
) -> Problem:
    """Signs with E[x_i x_j] = rho, or rho^|i-j|; truth and response as in ``rademacher``.

    Equicorrelated: each row has a sign, and given that sign its features are independent and equal
    to it with probability (1 + sqrt(rho)) / 2. Toeplitz: a row is a Markov chain that starts with
    either sign and keeps it from one feature to the next with probability (1 + rho) / 2.
    """
    truth = draw_truth(rng, p, sparsity, truth_l1_norm, decay)
    first = draw_signs(rng, n_samples, 1)
    moments: Callable[[np.ndarray, float], Moments | None]
    if kind == "equicorrelated":
        X = first * draw_flips(rng, (1.0 - np.sqrt(correlation)) / 2.0, n_samples, p)
        moments = partial(spread_moments, 1.0 - correlation, np.sqrt(correlation))
    else:
        steps = draw_flips(rng, (1.0 - correlation) / 2.0, n_samples, p - 1)
        X = np.cumprod(np.hstack([first, steps]), axis=1)
        moments = partial(
            _dense_moments, lambda: scipy.linalg.toeplitz(correlation ** np.arange(p))
        )
    return _sign_problem(rng, X, truth, moments, noise_std=noise_std, response=response)


def _check_duplicated(*, n_samples, p, copies, **others) -> None:
    check(n_samples=n_samples, p=p, copies=copies, **others)
    _check_dense(n_samples, p * copies)


@generator(
    "duplicated",
    title="Duplicated signs",
    paper="Shalev-Shwartz, Srebro & Zhang 2009, Section 3",
    provides=lambda *, n_samples, p, copies, response, **_: traits(
        n_samples, response, moments=p * copies <= _MOST_DENSE
    ),
    check=_check_duplicated,
    shape=lambda *, n_samples, p, copies, **_: shared_design_shape(p * copies, n_samples=n_samples),
    facts=("n_features",),
)
def duplicated(
    rng: np.random.Generator,
    *,
    n_samples: Samples = 200,
    p: Annotated[int, Field(ge=1, description="number of originals")] = 50,
    copies: Annotated[
        int, Field(ge=1, description="features for each original, including itself")
    ] = 2,
    flip: Annotated[
        float, Field(ge=0, le=0.5, description="probability that a copy has the other sign")
    ] = 0.0,
    sparsity: Sparsity = 10,
    truth_l1_norm: L1Norm = 1.0,
    decay: Decay = 1.0,
    noise_std: NoiseStd = 0.0,
    response: Response = "linear",
) -> Problem:
    """Signs uniform on {-1, 1}^p, each followed by its copies; otherwise as in ``rademacher``.

    The originals, each the first of a group of ``copies`` features, have the true coefficients; all
    other coefficients are zero. In each row every copy has the opposite sign of its original with
    probability ``flip``, independently. The second moment of an original and a copy is 1 - 2 flip,
    and that of two copies (1 - 2 flip)^2. Exact copies (``flip: 0``) do not change the best
    predictors, but the risk is no longer strongly convex, and the geometric rate of Theorem 4 is
    lost for supports that contain a feature twice.
    """
    truth = np.zeros((p * copies, 1))
    truth[::copies] = draw_truth(rng, p, sparsity, truth_l1_norm, decay)
    groups = np.repeat(draw_signs(rng, n_samples, p)[:, :, None], copies, axis=2)
    groups[:, :, 1:] *= draw_flips(rng, flip, n_samples, p, copies - 1)
    return _sign_problem(
        rng,
        groups.reshape(n_samples, p * copies),
        truth,
        partial(_dense_moments, lambda: _moments_of_copies(p, copies, flip)),
        noise_std=noise_std,
        response=response,
        facts={"n_features": len(truth)},
    )


def _moments_of_copies(p: int, copies: int, flip: float) -> np.ndarray:
    """Return E[x x^T], which has one block for each original and its copies."""
    likeness = np.full(copies, 1.0 - 2.0 * flip)
    likeness[0] = 1.0
    block = np.outer(likeness, likeness)
    np.fill_diagonal(block, 1.0)
    return np.kron(np.eye(p), block)
