"""Random streams depend on what they are for and on nothing else."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from greedyexp.core import registry
from greedyexp.runner.seeds import algorithm_stream, canonical_json, data_stream


def draws(stream) -> list[int]:
    return stream.integers(0, 2**63, size=4).tolist()


BASE = {"seed": 1, "generator": "gaussian", "params": {"n": 5, "rho": 0.5}, "replicate": 0}


def test_a_stream_is_what_the_hash_of_its_identity_says():
    text = json.dumps(["data", 1, "gaussian", {"n": 5, "rho": 0.5}, 0], separators=(",", ":"))
    entropy = int(hashlib.sha256(text.encode()).hexdigest(), 16)
    expected = np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))
    assert draws(data_stream(**BASE)) == draws(expected)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 2},
        {"generator": "other"},
        {"params": {"n": 6, "rho": 0.5}},
        {"params": {"n": 5, "rho": np.nextafter(0.5, 1)}},
        {"params": {"n": 5, "rho": 0.5, "new": None}},
        {"replicate": 1},
    ],
)
def test_every_part_of_the_identity_gives_another_stream(change):
    changed = {**BASE, **change}
    assert draws(data_stream(**changed)) != draws(data_stream(**BASE))
    one = algorithm_stream(**BASE, algorithm="omp")
    other = algorithm_stream(**changed, algorithm="omp")
    assert draws(one) != draws(other)


def test_algorithms_and_data_have_streams_of_their_own():
    streams = [data_stream(**BASE)]
    streams += [algorithm_stream(**BASE, algorithm=name) for name in ("omp", "lasso")]
    assert len({tuple(draws(stream)) for stream in streams}) == 3


def test_the_order_of_parameters_does_not_matter():
    turned = {**BASE, "params": {"rho": 0.5, "n": 5}}
    assert draws(data_stream(**turned)) == draws(data_stream(**BASE))


def test_streams_of_a_large_sweep_are_all_different():
    first = {
        data_stream(1, "g", {"n": n, "theta": theta / 10}, replicate).integers(2**63)
        for n in range(10)
        for theta in range(10)
        for replicate in range(20)
    }
    assert len(first) == 2000


def test_equal_values_have_one_spelling():
    assert canonical_json({"b": -0.0, "a": (1, [2.5])}) == '{"a":[1,[2.5]],"b":0.0}'
    assert canonical_json([np.float64(0.1), np.int32(3), np.arange(2)]) == "[0.1,3,[0,1]]"
    assert canonical_json([1, 1.0, True, None, "é"]) == '[1,1.0,true,null,"\\u00e9"]'


def test_a_value_without_a_spelling_is_refused():
    with pytest.raises(TypeError, match="set has no canonical form"):
        canonical_json({"a": {1, 2}})


def test_a_later_parameter_at_its_default_changes_no_stream():
    part = registry.find("generator", "multitask_overlap")
    params = part.parameters().model_dump()
    assert "correlation" in params
    assert "correlation" not in part.seeding(params)
    assert part.seeding({**params, "correlation": 0.5})["correlation"] == 0.5
