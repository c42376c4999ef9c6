"""Independent signs with copies of each."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.core.registry import generator
from greedyexp.generators import _signs as signs
from greedyexp.generators._regression import single_design
from greedyexp.problems.moments import Moments
from greedyexp.problems.problem import Problem


def _check(*, n_samples, p, copies, **others) -> None:
    signs.check(n_samples=n_samples, p=p, **others)
    signs.check_size(n_samples, p * copies)
    signs.check_dense(n_samples, p * copies)


def _provides(*, n_samples, p, copies, response, **_) -> tuple[str, ...]:
    return signs.traits(n_samples, response, moments=p * copies <= signs.MOST_DENSE)


@generator(
    "duplicated",
    title="Duplicated signs",
    paper="Shalev-Shwartz, Srebro & Zhang 2009, Section 3",
    provides=_provides,
    check=_check,
    shape=lambda *, n_samples, p, copies, **_: single_design(n_samples, p * copies),
    facts=("n_features",),
)
def duplicated(
    rng: np.random.Generator,
    *,
    n_samples: signs.Samples = 200,
    p: Annotated[int, Field(ge=1, description="number of originals")] = 50,
    copies: Annotated[
        int, Field(ge=1, description="features for each original, including itself")
    ] = 2,
    flip: Annotated[
        float, Field(ge=0, le=0.5, description="probability that a copy has the other sign")
    ] = 0.0,
    sparsity: signs.Sparsity = 10,
    truth_l1_norm: signs.L1Norm = 1.0,
    decay: signs.Decay = 1.0,
    noise_std: signs.NoiseStd = 0.0,
    response: signs.Response = "linear",
) -> Problem:
    """Signs uniform on {-1, 1}^p, each followed by its copies; the rest as in ``rademacher``.

    Originals, the first feature of each group of ``copies``, have the true coefficients; all other
    coefficients are zero. In each row every copy has the opposite sign of its original with
    probability ``flip``, independently. The second moment of an original and a copy is 1 - 2 flip,
    and that of two copies (1 - 2 flip)^2. Exact copies (``flip: 0``) do not change the best
    predictors, but the risk is no longer strongly convex, and the geometric rate of Theorem 4 is
    lost for supports that contain a feature twice.
    """
    truth = np.zeros((p * copies, 1))
    truth[::copies] = signs.draw_truth(rng, p, sparsity, truth_l1_norm, decay)
    known = len(truth) <= signs.MOST_DENSE

    def moments() -> Moments:
        return signs.dense_moments(_matrix(p, copies, flip), truth, noise_std)

    return signs.sign_problem(
        rng,
        _draw(rng, n_samples, p, copies, flip),
        truth,
        moments if known else None,
        noise_std=noise_std,
        response=response,
        facts={"n_features": len(truth)},
    )


def _draw(rng: np.random.Generator, n_samples: int, p: int, copies: int, flip: float) -> np.ndarray:
    groups = np.repeat(signs.draw_signs(rng, n_samples, p)[:, :, None], copies, axis=2)
    groups[:, :, 1:] *= signs.draw_flips(rng, flip, n_samples, p, copies - 1)
    return groups.reshape(n_samples, p * copies)


def _matrix(p: int, copies: int, flip: float) -> np.ndarray:
    """E[x x^T]: a block for each original."""
    likeness = np.full(copies, 1.0 - 2.0 * flip)
    likeness[0] = 1.0
    block = np.outer(likeness, likeness)
    np.fill_diagonal(block, 1.0)
    return np.kron(np.eye(p), block)
