"""The iterative methods as plain loops, one line of the paper after the other."""

from __future__ import annotations

import numpy as np


def objective(P, y, lam, a):
    return ((P @ a - y) ** 2).sum() / (2 * len(y)) + lam * np.abs(a).sum()


def soft(x, t):
    return np.sign(x) * np.maximum(np.abs(x) - t, 0)


def gradient_step(P, y, lam, a):
    """Proximal gradient; gradient descent when lam = 0."""
    n = len(y)
    L2 = np.linalg.eigvalsh(P.T @ P / n)[-1]
    return soft(a - P.T @ (P @ a - y) / n / L2, lam / L2)


def coordinate_step(P, y, lam, a, smoothness="l1"):
    """The coordinate with the largest decrease of its model; Gauss-Southwell when lam = 0."""
    n = len(y)
    L = (P**2).sum(axis=0).max() / n
    if smoothness == "l2":
        L = np.linalg.eigvalsh(P.T @ P / n)[-1]
    g = P.T @ (P @ a - y) / n
    t = soft(a - g / L, lam / L)
    change = g * (t - a) + L / 2 * (t - a) ** 2 + lam * (np.abs(t) - np.abs(a))
    i = int(np.argmin(change))
    a = a.copy()
    a[i] = t[i]
    return a


def pursuit_step(P, y, lam, a):
    """Regularised matching pursuit: the zero z of h' decides which coefficients go."""
    n = len(y)
    L1 = (P**2).sum(axis=0).max() / n
    g = P.T @ (P @ a - y) / n
    active = np.flatnonzero(a)
    kinks = lam + np.sign(a[active]) * g[active]
    z_min = max(np.abs(g).max() - lam, 0.0)

    def removed(z):
        return active[kinks > z]

    def slope(z):
        return -z / L1 + np.abs(a[removed(z)]).sum()

    b = np.zeros_like(a)
    if slope(z_min) <= 0:
        gone = removed(z_min)
        b[gone] = -a[gone]
        i = int(np.argmax(np.abs(g)))
        # That atom may be among the removed: it then crosses zero.
        b[i] -= np.sign(g[i]) * (z_min / L1 - np.abs(a[gone]).sum())
        return a + b
    for k in sorted(set(kinks[kinks > z_min])):
        if slope(k) <= 0:
            gone = removed(k)
            b[gone] = -a[gone]
            left = k / L1 - np.abs(a[gone]).sum()
            at = active[kinks == k]
            if left < np.abs(a[at]).sum():
                i = at[0]
                b[i] = -np.sign(a[i]) * left
            else:
                b[at] = -a[at]
            return a + b
    raise AssertionError("h' has no zero")


def gaps(step, P, y, lam, start, best, iterations):
    """Objective minus ``best`` at iterations 0, 1, ..."""
    a, out = start, [objective(P, y, lam, start) - best]
    for _ in range(iterations):
        a = step(P, y, lam, a)
        out.append(objective(P, y, lam, a) - best)
    return np.array(out)
