"""How often the claims of an experiment have a wrong verdict, when the truth is known.

Each simulated experiment is a table of three algorithms that see the same data, and one family of
claims about thresholds, slopes, proportions, means, ratios, data sets and trends. Most claims state
the truth itself as a boundary: two equal algorithms are compared, or a number with its true value.
Then both decisions count as wrong, which is stricter than the claim. Other claims are clearly true,
so that Holm's method has something to reject, and some are barely true, so that a refutation is
wrong. The probability that an experiment has a wrong test must be at most 5%.

With --page the shares are written into docs/guide/intervals.md.
Run: python benchmarks/measure_verdicts.py [--experiments N] [--page]
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np
import pandas as pd
from measure_coverage import PAGE, write_page
from scipy.special import expit, ndtr, ndtri

from greedyexp.claims.entries import compile_claim
from greedyexp.claims.judging import evaluate_claims
from greedyexp.claims.setting import AlgorithmSweep, Setting

LABELS = ("a", "b", "c")
KAPPAS = (0.2, 0.5, 0.8)
THETAS = tuple(np.round(np.linspace(0.4, 1.6, 13), 10).tolist())
TAU, SLOPE, BETTER = 0.97, 10.0, 0.6
# Correlation of the algorithms through the data they share.
COMMON = 0.7
SETTING = Setting(
    axes=(("kappa",), ("theta",)),
    algorithms={label: AlgorithmSweep(success="support") for label in LABELS},
    binary=("support",),
    measured=("support", "error"),
    columns=("kappa", "theta"),
)


def success(theta: float, tau: float = TAU) -> float:
    """Return the probability of success."""
    return float(expit(SLOPE * (theta - tau)))


RARELY = float(np.exp(0.3 * ndtri(0.95)))

# test, where -> the verdicts that are wrong. Algorithms a and b are equal; c is better.
CLAIMS: list[tuple[str, dict, set[str], dict]] = []


def claim(test: str, wrong: str = "supported refuted", margin: float | None = None, **where):
    """Add a claim; ``wrong`` names the verdicts that would be errors."""
    more = {} if margin is None else {"margin": margin}
    CLAIMS.append((test, where, set(wrong.split()), more))


claim("threshold(a) < threshold(b)")
claim(f"threshold(a) <= {TAU}", kappa=0.2)
claim("threshold(c) < threshold(b)", wrong="refuted", kappa=0.2)
claim("slope(threshold(a), kappa) < 0")
claim("increasing(threshold(b), kappa)")
claim(f"proportion(a) > {success(0.7)}", theta=0.7)
claim(f"proportion(a) >= {success(1.3)}", theta=1.3)
claim(f"proportion(b) == {success(1.0) - 0.2}", margin=0.2, theta=1.0)
claim("proportion(a) < proportion(b)", theta=1.2)
claim("proportion(a) < proportion(c)", wrong="refuted", theta=[0.8, 0.9])
claim("slope(proportion(b), kappa) > 0", theta=1.3)
claim("mean(a, error) < mean(b, error)", theta=1.0)
claim("mean(a, error) < mean(c, error)", wrong="refuted", theta=1.0)
claim(f"mean(a, error) <= {np.exp(0.045)}", theta=1.1)
claim("mean(a, error) <= 1.001 * mean(b, error)", wrong="refuted", theta=1.2)
claim("slope(mean(a, error), log(kappa)) < 0", theta=1.0)
claim("ratio(mean(a, error), mean(b, error)) == 0.9", margin=0.1, theta=1.0)
claim(f"always(error <= {RARELY})", wrong="supported", algorithm="a", theta=[0.4, 0.5])
claim("usually(error(a) < error(b))", theta=1.0)


def drawn(rng: np.random.Generator, replicates: int) -> pd.DataFrame:
    """Return the table of one experiment, with equal numbers of replicates at all points."""
    kappa, theta, replicate = (
        one.ravel() for one in np.meshgrid(KAPPAS, THETAS, range(replicates), indexing="ij")
    )
    parts = []
    shared = rng.standard_normal((2, len(kappa)))
    for label in LABELS:
        own = rng.standard_normal(shared.shape)
        latent, noise = np.sqrt(COMMON) * shared + np.sqrt(1 - COMMON) * own
        better = label == "c"
        p = expit(SLOPE * (theta - (BETTER if better else TAU)))
        columns = {"kappa": kappa, "theta": theta, "replicate": replicate, "algorithm": label}
        columns |= {"support": (ndtr(latent) < p).astype(int), "error": np.exp(0.3 * noise)}
        parts.append(pd.DataFrame(columns))
        if better:
            parts[-1]["error"] *= 2
    return pd.concat(parts, ignore_index=True).assign(status="ok", message="")


def compiled() -> list:
    """Return the claims of one family."""
    entries = [
        {"id": f"claim-{i}", "quote": "-", "test": test, "where": where, **more}
        for i, (test, where, _, more) in enumerate(CLAIMS)
    ]
    return [compile_claim(one, SETTING, "Figure 1") for one in entries]


def wrong_tests(rng: np.random.Generator, replicates: int, claims: list) -> list[str]:
    """Return the texts of the claims of one experiment that have a wrong verdict."""
    judged = evaluate_claims(claims, drawn(rng, replicates), SETTING).judged
    for one in judged:
        assert all(test.p is not None for test in one.tests), one.tests[0].reason
    return [
        text
        for one, (text, _, wrong, _) in zip(judged, CLAIMS, strict=True)
        if any(str(test.verdict) in wrong for test in one.tests)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how often verdicts are wrong.")
    parser.add_argument("--experiments", type=int, default=2000)
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.name}")
    given = parser.parse_args()
    claims, half = compiled(), given.experiments // 2
    lines = ["| replicates | experiments | with a wrong test |", "|---|---|---|"]
    for replicates in (20, 100):
        rng = np.random.default_rng(replicates)
        errors = [wrong_tests(rng, replicates, claims) for _ in range(half)]
        share = np.mean([bool(one) for one in errors])
        lines.append(f"| {replicates} | {half} | {100 * share:.1f}% |")
        print(lines[-1], flush=True)
        for text, count in Counter(text for one in errors for text in one).most_common():
            print(f"    {count:4d}  {text}", flush=True)
    if given.page:
        write_page({"verdicts": "\n".join(lines) + "\n"})


if __name__ == "__main__":
    main()
