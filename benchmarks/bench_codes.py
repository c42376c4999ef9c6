"""Compare sparse codes of many signals with SPAMS and scikit-learn: CPU times on one thread.

The first three rows are the sizes of image patches, audio frames and faces. ``OMPCoder`` returns
sparse codes, as SPAMS does. The remark says how often both select the same atoms, and how much
memory greedyexp takes beyond its input.
Run: python benchmarks/bench_codes.py
"""

from __future__ import annotations

import sys

import numpy as np
from _measuring import Comparison, cpu_seconds, report
from measure_scale import forget_peak, peak
from sklearn.linear_model import orthogonal_mp

from greedyexp.estimators import OMPCoder

try:
    import spams
except ModuleNotFoundError:
    spams = None


def data(n, p, n_signals, n_atoms):
    rng = np.random.default_rng(0)
    D = rng.standard_normal((n, p))
    D /= np.linalg.norm(D, axis=0)
    codes = np.zeros((p, n_signals))
    for code in codes.T:
        code[rng.choice(p, n_atoms, replace=False)] = rng.standard_normal(n_atoms)
    return D, D @ codes + 0.01 * rng.standard_normal((n, n_signals))


def compare(name, n, p, n_atoms, n_signals, repeats):
    D, Y = data(n, p, n_signals, n_atoms)
    atoms, signals = np.asfortranarray(D), np.asfortranarray(Y)
    coder = OMPCoder(D.T, n_nonzero_coefs=n_atoms, judge="refit", sparse_output=True)
    rows = np.ascontiguousarray(Y.T)

    def ours():
        return coder.transform(rows)

    peers = {"scikit-learn": lambda: orthogonal_mp(D, Y, n_nonzero_coefs=n_atoms, precompute=True)}
    if spams is not None:
        peers["SPAMS"] = lambda: spams.omp(signals, atoms, L=n_atoms, eps=0.0, numThreads=1)
    forget_peak()
    before = peak()
    codes = ours()
    taken = peak() - before
    selected = codes.toarray().T != 0
    seconds = cpu_seconds(ours, *peers.values(), repeats=repeats)
    what = f"OMP, {name}{n} x {p}, {n_signals} signal{'s' * (n_signals > 1)}, {n_atoms} atoms"
    for theirs, (peer, fit) in zip(seconds[1:], peers.items(), strict=True):
        other = fit()
        other = other.toarray() if peer == "SPAMS" else other.reshape(p, n_signals)
        same = ((other != 0) == selected).all(axis=0).mean()
        remark = f"same atoms in {100 * same:.4g}% of the codes; {taken / 2**20:.0f} MiB"
        yield Comparison(what, peer, seconds[0], theirs, remark)


def comparisons():
    if spams is None:
        print("SPAMS is not installed, so it is left out.", file=sys.stderr)
    yield from compare("image patches, ", 256, 1024, 32, 5000, 2)
    yield from compare("audio, ", 512, 2048, 64, 1500, 2)
    yield from compare("faces, ", 8064, 1207, 30, 300, 2)
    yield from compare("", 64, 256, 5, 1, 20)
    yield from compare("", 64, 256, 5, 10_000, 3)


if __name__ == "__main__":
    report(comparisons, __doc__)
