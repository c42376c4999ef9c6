"""Random streams from what they are for, never from where they stand.

The stream of a data set is a function of (experiment seed, generator, its parameters, replicate);
that of an algorithm of the same and the algorithm's name. The order of the sweep, of the
algorithms, of the workers and the batches do not enter, so adding a value to a sweep, trials or an
algorithm changes no row that was there, and all algorithms see the same data.

The parameters are the complete ones, defaults included: a value written out and the same value
left to its default give the same stream. Parameters that a generator registers as ``unseeded``,
which only say how a file is read, are left out. When a generator gains another parameter,
its complete parameters change and with them every stream; that is intended, since its code changed
as well and the journal would compute the rows anew in any case.
"""

from __future__ import annotations

import numpy as np

from greedyexp.runner.canonical import digest


def data_stream(seed: int, generator: str, params: dict, replicate: int) -> np.random.Generator:
    """The stream that makes one data set.

    Parameters
    ----------
    seed : int, at least 0
        The experiment's seed.
    generator : str
        Name of the generator.
    params : dict
        Its complete parameters, less those that are unseeded.
    replicate : int, at least 0
        Which of the data sets with these parameters.
    """
    return _stream(["data", seed, generator, params, replicate])


def algorithm_stream(
    seed: int, generator: str, params: dict, replicate: int, algorithm: str
) -> np.random.Generator:
    """The stream of one algorithm on one data set: folds of cross-validation, random starts.

    It depends on the algorithm's name and not on its label or parameters, so that two settings of
    one algorithm are compared on the same folds.
    """
    return _stream(["algorithm", seed, generator, params, replicate, algorithm])


def _stream(identity: list) -> np.random.Generator:
    entropy = int.from_bytes(digest(identity), "big")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))
