"""Features that are independent signs."""

from __future__ import annotations

import numpy as np

from greedyexp.core.registry import generator
from greedyexp.generators import _signs as signs
from greedyexp.generators._regression import single_design
from greedyexp.problems.problem import Problem


@generator(
    "rademacher",
    title="Independent signs",
    paper="Shalev-Shwartz, Srebro & Zhang 2009",
    provides=lambda *, n_samples, response, **_: signs.traits(n_samples, response),
    check=signs.check,
    shape=lambda *, n_samples, p, **_: single_design(n_samples, p),
)
def rademacher(
    rng: np.random.Generator,
    *,
    n_samples: signs.Samples = 200,
    p: signs.Features = 100,
    sparsity: signs.Sparsity = 10,
    truth_l1_norm: signs.L1Norm = 1.0,
    decay: signs.Decay = 1.0,
    noise_std: signs.NoiseStd = 0.0,
    response: signs.Response = "linear",
) -> Problem:
    """Rows uniform on {-1, 1}^p, with a sparse truth of the given l1 norm.

    Since E[x x^T] = I, the risk of least squares under the distribution is
    R(w) = R(truth) + ||w - truth||^2 / 2, with R(truth) = noise_std^2 / 2. A linear response is
    <truth, x> plus Gaussian noise; of two classes, 1 has probability 1 / (1 + exp(-<truth, x>)).

    The sizes of the true coefficients decrease by the factor ``decay`` from each to the next, in
    random order; support and signs are random too. With ``n_samples: 0`` there are no rows, only
    the second moments of a linear response.
    """
    truth = signs.draw_truth(rng, p, sparsity, truth_l1_norm, decay)
    return signs.sign_problem(
        rng,
        signs.draw_signs(rng, n_samples, p),
        truth,
        lambda: signs.spread_moments(1.0, 0.0, truth, noise_std),
        noise_std=noise_std,
        response=response,
    )
