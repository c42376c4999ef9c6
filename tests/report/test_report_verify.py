"""Claims of a run folder whose configuration was edited by hand after the run."""

from __future__ import annotations

import copy
import json

import pandas as pd
import pytest
import yaml

from greedyexp.cli.summaries import summary
from greedyexp.core.errors import ConfigError, StorageError
from greedyexp.report import draw, verify
from greedyexp.results.text import origin_text
from greedyexp.runner import status
from greedyexp.runner.run_contents import read_run

TABLE = "edited.csv"
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
    """Write a run of 40 successes with the given claims, and judge them."""
    rows = {"p": 64, "algorithm": "lasso", "replicate": range(40), "status": "ok", "support": 1.0}
    pd.DataFrame(rows).to_csv(tmp_path / TABLE, index=False)

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
        ({"margin": 0.1}, ".margin", "a margin is allowed only with ==."),
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


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda frame: frame.assign(support=["abc", *frame["support"][1:]]), "'support' of the"),
        (lambda frame: frame.assign(status=["OK", *frame["status"][1:]]), "unknown status 'OK'"),
        (
            lambda frame: frame.assign(replicate=["x", *frame["replicate"][1:]]),
            "'replicate' of the",
        ),
        (lambda frame: frame.drop(columns="support"), "the table has no column 'support'."),
    ],
)
def test_a_damaged_table_is_not_judged(judge, tmp_path, damage, words):
    assert judge([CLAIM]).judged
    damage(pd.read_csv(tmp_path / TABLE)).to_csv(tmp_path / TABLE, index=False)
    (tmp_path / "claims.json").unlink()
    with pytest.raises(StorageError) as caught:
        verify(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / TABLE}: ")
    assert words in str(caught.value)
    assert not (tmp_path / "claims.json").exists()


def counted(folder, done):
    counts = {"total": 40, "done": done, "failed": {}, "missing": 40 - done}
    counts |= {"not_converged": 0, "computed": done}
    manifest = {"name": "edited", "algorithm_seconds": 1, "replicates": counts}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def test_rows_that_the_manifest_counts_and_the_table_lacks_are_noted(judge, tmp_path):
    counted(tmp_path, 40)
    assert judge([CLAIM]).part == ""
    pd.read_csv(tmp_path / TABLE)[:30].to_csv(tmp_path / TABLE, index=False)
    found = verify(tmp_path)
    assert found.part == "30 of 40 replicates"
    assert summary(found).startswith(f"edited ({tmp_path.name}, only 30 of 40 replicates): 1 claim")
    assert origin_text(read_run(tmp_path).context).endswith(", only 30 of 40 replicates")


@pytest.mark.parametrize("damaged", ["{", "[]", "{}", '{"replicates": null}'])
def test_a_damaged_manifest_is_refused(judge, tmp_path, damaged):
    judge([CLAIM])
    (tmp_path / "manifest.json").write_text(damaged, encoding="utf-8")
    for read in (verify, draw, status):
        with pytest.raises(StorageError, match=r"manifest\.json: the manifest cannot be read \("):
            read(tmp_path)


def test_a_table_of_a_header_alone_is_refused_when_replicates_were_finished(judge, tmp_path):
    judge([CLAIM])
    pd.read_csv(tmp_path / TABLE)[:0].to_csv(tmp_path / TABLE, index=False)
    (judged,) = verify(tmp_path).judged
    assert judged.verdict.value == "inconclusive"
    counted(tmp_path, 40)
    with pytest.raises(StorageError, match="the table has 0 of 40 replicates of the run"):
        verify(tmp_path)
