"""Constants of the l1 geometry by force: signs, orthants, hulls, conic and linear programmes."""

from __future__ import annotations

from itertools import product

import cvxpy as cp
import numpy as np
import scipy


def gaussian(seed, n, p, centred=False):
    """A design of normal entries."""
    P = np.random.default_rng(seed).standard_normal((n, p))
    return P - centred * P.mean(axis=0)


def smoothness(P):
    """L1 of ||P a - y||^2 / (2 n)."""
    return (P**2).sum(axis=0).max() / len(P)


def sign_vectors(p):
    """All vectors of signs up to their own sign."""
    return np.array(list(product([1.0], *[[1.0, -1.0]] * (p - 1))))


def curvature_by_signs(P):
    """mu1 of independent columns: 1 / (n max v^T (P^T P)^-1 v) over vectors v of signs."""
    signs = sign_vectors(P.shape[1])
    inverse = np.linalg.inv(P.T @ P)
    return 1 / (len(P) * np.einsum("vi,ij,vj->v", signs, inverse, signs).max())


def curvature_by_orthants(P):
    """mu1 from its definition: the least ||P z||^2 / n with ||z||_1 = 1, orthant by orthant.

    In an orthant 1^T w - ||P w||^2 / 2 is largest at w with 1^T w = 1 / min ||P z||^2.
    """
    least = np.inf
    for signs in sign_vectors(P.shape[1]):
        turned = P * signs
        w = scipy.optimize.nnls(turned, turned @ np.linalg.solve(turned.T @ turned, signs**2))[0]
        least = min(least, 1 / w.sum())
    return least / len(P)


def curvature_by_hull(P):
    """mu1L of a design of full row rank: the squared inradius of conv(P, -P), divided by n."""
    hull = scipy.spatial.ConvexHull(np.concatenate([P, -P], axis=1).T)
    return hull.equations[:, -1].max() ** 2 / len(P)


def relaxed_curvature(P):
    """The relaxation of mu1 in Lemma 21, by a conic solver."""
    p = P.shape[1]
    Z = cp.Variable((p, p), PSD=True)
    inverse = np.linalg.inv(P.T @ P)
    largest = cp.Problem(cp.Maximize(cp.trace(inverse @ Z)), [cp.diag(Z) <= 1])
    return 1 / (len(P) * largest.solve(solver="CLARABEL"))


def relaxed_lojasiewicz(P):
    """The relaxation of mu1L in Lemma 22, by a conic solver; here M stands for P Z P^T."""
    n = len(P)
    M = cp.Variable((n, n), PSD=True)
    least = cp.Problem(cp.Minimize(cp.max(cp.diag(P.T @ M @ P))), [cp.trace(M) == 1])
    return least.solve(solver="CLARABEL") / n


def gauge(P, x):
    """Least ||a||_1 with P a = x, by the simplex method."""
    found = scipy.optimize.linprog(np.ones(2 * P.shape[1]), A_eq=np.hstack([P, -P]), b_eq=x)
    assert found.status == 0
    return found.fun


def model_of_a_step(b, a, g, lam, L):
    """Equation 16 without its constant."""
    return g @ b + L / 2 * np.abs(b).sum() ** 2 + lam * np.abs(a + b).sum()


def algorithm_one(a, g, lam, L, *, mended):
    """The step b of Algorithm 1, line by line, with the minus signs that it lacks.

    ``mended`` takes the index after the printed n, and the first one if there is no n. The result
    is None where the printed n is not defined.
    """
    b = np.zeros_like(a)
    z_min, i_min = max(np.abs(g).max() - lam, 0.0), np.abs(g).argmax()
    active = np.flatnonzero(a)
    kinks = lam + np.sign(a[active]) * g[active]
    order = active[np.argsort(kinks)]
    kinks, sizes, v = np.sort(kinks), np.abs(a[order]), len(order) - 1

    def before(z):
        return -z / L + sizes[kinks >= z].sum()

    def after(z):
        return -z / L + sizes[kinks > z].sum()

    above = np.flatnonzero(kinks >= z_min)
    if above.size == 0:
        b[i_min] = -np.sign(g[i_min]) * z_min / L
        return b
    u = above[0]
    if after(z_min) <= 0 or before(kinks[u]) <= 0:
        b[order[u:]] = -a[order[u:]]
        if after(z_min) <= 0:
            b[i_min] -= np.sign(g[i_min]) * (z_min / L - sizes[u:].sum())
        return b
    steps = [i for i in range(u, v) if after(kinks[i]) >= 0 and before(kinks[i + 1]) >= 0]
    if not (steps or mended):
        return None
    n = (max(steps) + mended) if steps else u
    if n == v - (not mended):
        b[order[v]] = -np.sign(a[order[v]]) * kinks[v] / L
        return b
    b[order[n + 1 :]] = -a[order[n + 1 :]]
    if after(kinks[n]) <= 0:
        b[order[n]] = -np.sign(a[order[n]]) * (kinks[n] / L - sizes[n + 1 :].sum())
    return b


def estimates(iteration, count):
    """The estimates 0, ..., ``count`` of a run."""
    found = []
    for k in range(count + 1):
        iteration.advance(k)
        found.append(iteration.coef)
    return found
