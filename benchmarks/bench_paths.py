"""Compare paths of the elastic net, the l1/l2 group lasso and logistic regression with peers.

All methods return the estimates at the same values of lam. Times are CPU times on one thread; those
of greedyexp include all checks of the data.
Run: python benchmarks/bench_paths.py
"""

from __future__ import annotations

import sys

import numpy as np
from _measuring import Comparison, cpu_seconds, report
from bench_lasso import data
from sklearn.linear_model import ElasticNet

from greedyexp.algorithms.lasso.group_lasso import group_lasso_l2
from greedyexp.algorithms.lasso.l1_path import l1_path
from greedyexp.problems.problem import as_problem

try:
    import adelie
    from celer.homotopy import mtl_path
except ModuleNotFoundError:
    adelie = mtl_path = None


def elastic_net(n, p, repeats):
    X, y = data(n, p)
    ordered, ridge = np.asfortranarray(X), 0.1
    lams = np.geomspace(1.0, 0.02, 30) * np.abs(X.T @ y).max() / n

    def ours():
        return l1_path(as_problem(X, y), ridge=ridge, lam=lams).coef[:, :, 0]

    def theirs():
        model = ElasticNet(fit_intercept=False, warm_start=True, tol=1e-8, max_iter=10**5)
        coef = []
        for lam in lams:
            model.set_params(alpha=lam + ridge, l1_ratio=lam / (lam + ridge)).fit(ordered, y)
            coef.append(model.coef_.copy())
        return np.stack(coef)

    def objectives(coef):
        loss = ((y - coef @ X.T) ** 2).sum(axis=1) / (2 * n) + ridge / 2 * (coef**2).sum(axis=1)
        return loss + lams * np.abs(coef).sum(axis=1)

    excess = (objectives(ours()) / objectives(theirs()) - 1.0).max()
    assert excess < 1e-12, f"the estimates are worse than those of scikit-learn by {excess:.0e}"
    seconds = cpu_seconds(ours, theirs, repeats=repeats)
    what = f"elastic net, {n} x {p}, 30 lam down to 0.02"
    return Comparison(what, "scikit-learn", *seconds, f"excess at most {excess:.0e}")


def group_lasso(n, p, n_tasks, n_rows, repeats):
    rng = np.random.default_rng(0)
    X, truth = rng.standard_normal((n, p)), np.zeros((p, n_tasks))
    truth[rng.choice(p, n_rows, replace=False)] = rng.standard_normal((n_rows, n_tasks))
    Y = X @ truth
    Y += Y.std() / 3 * rng.standard_normal(Y.shape)
    ordered, responses = np.asfortranarray(X), np.asfortranarray(Y)
    lams = np.geomspace(1.0, 0.05, 50) * np.linalg.norm(X.T @ Y / n, axis=1).max()

    def ours():
        return group_lasso_l2(as_problem(X, Y), lam=lams).coef

    def theirs():
        return mtl_path(ordered, responses, alphas=lams, tol=1e-6)[1].transpose(2, 1, 0)

    def objectives(coef):
        losses = [((Y - X @ estimate) ** 2).sum() / (2 * n) for estimate in coef]
        return losses + lams * np.linalg.norm(coef, axis=2).sum(axis=1)

    excess = (objectives(ours()) / objectives(theirs()) - 1.0).max()
    assert excess < 1e-12, f"the estimates are worse than those of celer by {excess:.0e}"
    seconds = cpu_seconds(ours, theirs, repeats=repeats)
    what = f"l1/l2 group lasso, {n} x {p}, {n_tasks} tasks, 50 lam down to 0.05"
    return Comparison(what, "celer", *seconds, f"excess at most {excess:.0e}")


def logistic(n, p, repeats):
    """Peers stop at an accuracy of their own, so excesses of the objective are shown."""
    X, y = data(n, p)
    y = np.where(y > 0.0, 1.0, -1.0)
    ordered, lams = (
        np.asfortranarray(X),
        np.geomspace(1.0, 0.02, 30) * np.abs(X.T @ y).max() / 2 / n,
    )

    def ours():
        return l1_path(as_problem(X, y), loss="logistic", lam=lams).coef[:, :, 0]

    def theirs():
        labels = adelie.glm.binomial(y=(y + 1.0) / 2.0)
        settings = {"lmda_path": lams, "intercept": False, "early_exit": False, "n_threads": 1}
        accuracy = {"tol": 1e-12, "irls_tol": 1e-12, "progress_bar": False}
        return adelie.grpnet(X=ordered, glm=labels, **settings, **accuracy).betas.toarray()

    def objectives(coef):
        return np.logaddexp(0.0, -y * (coef @ X.T)).mean(axis=1) + lams * np.abs(coef).sum(axis=1)

    least = objectives(ours())
    excess = (objectives(theirs()) - least).max()
    assert excess > -1e-12, f"the estimates are worse than those of adelie by {-excess:.0e}"
    seconds = cpu_seconds(ours, theirs, repeats=repeats)
    what = f"logistic path, {n} x {p}, 30 lam down to 0.02"
    return Comparison(what, "adelie", *seconds, f"its objective is larger by {excess:.0e}")


def comparisons():
    for shape, repeats in (((400, 512), 7), ((500, 5000), 3), ((2000, 100), 7)):
        yield elastic_net(*shape, repeats)
    if adelie is None:
        print("adelie and celer are not installed, so they are left out.", file=sys.stderr)
        return
    for shape in ((400, 512, 10, 30), (100, 3000, 20, 15), (1000, 5000, 5, 50)):
        yield group_lasso(*shape, 3)
    for shape, repeats in (((1500, 128), 7), ((500, 5000), 3), ((20_000, 100), 3)):
        yield logistic(*shape, repeats)


if __name__ == "__main__":
    report(comparisons, __doc__)
