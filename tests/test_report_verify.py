"""Claims of a run folder whose configuration was edited by hand after the run."""

from __future__ import annotations

import copy
import json

import pandas as pd
import pytest
import yaml

from greedyexp.errors import ConfigError
from greedyexp.report import verify

CLAIM = {"id": "often", "quote": "nearly always", "test": "proportion(lasso) > 0.5"}
CONFIG = {
    "name": "edited",
    "data": {"generator": "multitask_overlap", "p": 64},
    "trials": 40,
    "algorithms": ["lasso"],
    "metrics": ["support"],
    "claims": [CLAIM],
}


@pytest.fixture
def judge(tmp_path):
    """Writes a run of 40 successes whose configuration has the given claims, and judges them."""
    rows = {"p": 64, "algorithm": "lasso", "replicate": range(40), "status": "ok", "support": 1.0}
    pd.DataFrame(rows).to_csv(tmp_path / "edited.csv", index=False)

    def written(claims):
        config = copy.deepcopy({**CONFIG, "claims": claims})
        (tmp_path / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        return verify(tmp_path)

    return written


def test_a_claim_with_everything_in_it_is_judged(judge, tmp_path):
    whole = {"place": "Figure 1", "where": {"p": [64]}, "figure": "Figure 1", "note": "at p = 64"}
    (judged,) = judge([{**CLAIM, **whole}]).judged
    assert judged.verdict.value == "supported"
    (found,) = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))["claims"]
    assert {"place": "Figure 1", "note": "at p = 64"}.items() <= found.items()


@pytest.mark.parametrize(
    ("change", "where", "words"),
    [
        ({"test": 5}, ".test", "test must be a text or a list, but is 5."),
        ({"test": []}, ".test", "test must be a text or a list of at least 1 item, but is []."),
        ({"test": ["proportion(lasso) > 0", 5]}, ".test[1]", "must be a text, but is 5."),
        ({"test": ["proportion(lasso) > 0", "mean("]}, ".test[1]", ""),
        ({"test": "proportion(laso) > 0"}, ".test", "Did you mean 'lasso'?"),
        ({"where": 5}, ".where", "where must be a mapping, but is 5."),
        ({"where": [1]}, ".where", "where must be a mapping, but is [1]."),
        ({"margin": "a"}, ".margin", "margin must be a number"),
        ({"margin": 0.1}, ".margin", "a margin goes with == only."),
        ({"marg": 3}, "", "unknown key 'marg'."),
        ({"quote": 7}, ".quote", "quote must be a text, but is 7."),
    ],
)
def test_a_claim_of_the_wrong_shape_is_refused_where_it_stands(
    judge, tmp_path, change, where, words
):
    with pytest.raises(ConfigError) as caught:
        judge([CLAIM, {**CLAIM, **change}])
    assert str(caught.value).startswith(f"{tmp_path / 'config.yaml'}: claims[1]{where}")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ([1], "claims[0]: a claim must be a mapping, but is 1."),
        ([{"id": "a", "quote": "b"}], "claims[0]: 'test' is missing."),
        (5, "claims must be a list."),
        ({"a": 1}, "claims must be a list."),
        ("all", "claims must be a list."),
    ],
)
def test_what_is_no_claim_is_refused(judge, tmp_path, claims, words):
    with pytest.raises(ConfigError) as caught:
        judge(claims)
    assert str(caught.value).startswith(f"{tmp_path / 'config.yaml'}: ")
    assert words in str(caught.value)
