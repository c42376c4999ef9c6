"""``greedyexp.open``: a run folder in Python and in notebooks."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pandas as pd
import pytest
import yaml
from kept_registry import kept_registry

import greedyexp
from greedyexp.config import load
from greedyexp.core import shipped
from greedyexp.core.errors import ConfigError, StorageError
from greedyexp.core.registry import find
from greedyexp.results.described import described_columns
from greedyexp.runner import progress
from greedyexp.runner.rows import columns_of

TINY = {
    "name": "tiny",
    "data": {"generator": "gaussian", "n_samples": 30, "p": 8, "sweep": {"sparsity": [1, 2]}},
    "trials": 3,
    "algorithms": ["omp", {"lasso": {"label": "penalty"}}],
    "metrics": ["support", "support_size"],
    "figures": [{"comparison": {"row": "sparsity", "metrics": ["support_size"]}}],
    "tables": [{"comparison": {"row": "sparsity", "metrics": ["support_size"]}}],
    "claims": [
        {
            "id": "omp-is-sparser",
            "quote": "fewer features",
            "place": "page 1",
            "test": "mean(omp, support_size) < mean(penalty, support_size)",
        }
    ],
}
# The packages of others are installed by `make test-peers`.
CONFIGS = [
    pytest.param(name, marks=[pytest.mark.peers] if name.startswith("best_subset_today") else [])
    for name in shipped.configs()
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder of results, and the table that ``run`` returned."""
    out = tmp_path_factory.mktemp("results")
    table = greedyexp.run(TINY, out=out, engine="serial", progress=False)
    return out / "tiny" / "quick", table


def test_everything_that_a_run_left_is_read(made):
    folder, table = made
    results = greedyexp.open(str(folder))
    csv = pd.read_csv(folder / "tiny.csv", keep_default_na=False, na_values=[""])
    assert results.rows[csv.columns].equals(table)
    assert results.rows["fit_seconds"].gt(0).all()
    assert results.folder == folder
    assert results.config == yaml.safe_load((folder / "config.yaml").read_text())
    assert results.manifest == json.loads((folder / "manifest.json").read_text())


def test_claims_are_those_of_verify(made, call):
    folder, _ = made
    (claim,) = json.loads(call("verify", folder, "--json", cwd=folder).stdout)[0]["claims"]
    results = greedyexp.open(folder)
    assert results.claims.index.tolist() == ["omp-is-sparser"]
    row = results.claims.iloc[0]
    for name in ("verdict", "reason", "quote", "place", "trials"):
        assert row[name] == claim[name]
    assert row["test"] == claim["test"][0]
    tests = claim["tests"]
    assert results.comparisons["at"].tolist() == ["sparsity = 1", "sparsity = 2"]
    for name in ("verdict", "estimate", "low", "high", "confidence", "p", "p_adjusted", "trials"):
        assert results.comparisons[name].tolist() == [one[name] for one in tests]


def test_missing_figures_and_tables_are_made_once(made):
    folder, _ = made
    results = greedyexp.open(folder)
    picture = results.figures["comparison"]
    assert picture.png.read_bytes() == picture._repr_png_()
    assert picture._repr_png_().startswith(b"\x89PNG")
    assert picture.pdf.is_file()
    (table,) = results.tables.values()
    assert table.equals(pd.read_csv(folder / "tables" / "comparison.csv"))
    # Features may have any name.
    (folder / "tables" / "comparison.csv").write_text("feature\nNA\n")
    assert results.tables["comparison"]["feature"].tolist() == ["NA"]
    (folder / "tables" / "comparison.csv").unlink()
    assert results.tables["comparison"].equals(table)
    picture.png.write_bytes(b"drawn by hand")
    assert results.figures["comparison"]._repr_png_() == b"drawn by hand"
    picture.png.unlink()
    assert results.figures["comparison"]._repr_png_().startswith(b"\x89PNG")


def test_the_representations_summarise(made):
    folder, _ = made
    results = greedyexp.open(folder)
    assert repr(results).splitlines()[0] == "tiny (quick): 12 rows, 2 algorithms"
    assert "claims   omp-is-sparser" in repr(results)
    page = results._repr_html_()
    assert results.claims["verdict"].iloc[0] in page
    assert "omp-is-sparser" in page
    assert "comparison: " in repr(results.figures)
    assert results.figures._repr_html_().count("data:image/png;base64,") == 1


def test_failures_are_counted(tmp_path):
    (tmp_path / "failing.py").write_text(
        "from greedyexp import algorithm\n\n"
        '@algorithm("notebook_failing")\n'
        "def failing(problem):\n"
        "    raise ValueError\n"
    )
    path = tmp_path / "tiny.yaml"
    added = {"algorithms": ["omp", "notebook_failing"], "plugins": ["failing.py"], "claims": []}
    path.write_text(yaml.safe_dump({**TINY, **added}))
    with kept_registry():
        greedyexp.run(path, out=tmp_path, engine="serial", progress=False)
        said = repr(greedyexp.open(tmp_path / "tiny" / "quick"))
    assert said.startswith("tiny (quick): 12 rows, 2 algorithms, 6 replicates failed\n")


def test_text_of_users_is_escaped_in_html(tmp_path):
    bold = {**TINY, "paper": {"key": "<b>&"}}
    greedyexp.run(bold, out=tmp_path, engine="serial", progress=False)
    page = greedyexp.open(tmp_path / "tiny" / "quick")._repr_html_()
    assert "<b>&" not in page
    assert "&lt;b&gt;&amp;" in page


def test_a_damaged_claim_leaves_the_summary_and_the_rows(made, tmp_path):
    folder, table = made
    claims = [{"id": "one", "quote": "q", "test": "mean("}]
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({**TINY, "claims": claims}))
    (tmp_path / "tiny.csv").write_bytes((folder / "tiny.csv").read_bytes())
    results = greedyexp.open(tmp_path)
    assert results.rows.equals(table)
    assert "claims[0].test" in results._repr_html_()


def test_every_column_is_described(made):
    folder, table = made
    columns = greedyexp.open(folder).columns
    assert columns.loc["sparsity", ["kind", "range", "of"]].tolist() == [
        "parameter",
        ">= 0",
        "generator gaussian",
    ]
    assert columns.loc["support", ["kind", "of"]].tolist() == ["success", "metric support"]
    assert columns.loc["replicate", "kind"] == "key"
    assert columns.loc["fit_seconds", "kind"] == "seconds"
    assert table.attrs["folder"] == str(folder)
    assert list(table.attrs["columns"]) == list(table.columns)
    # Plain texts survive as the metadata of a file.
    assert json.loads(json.dumps(table.attrs)) == table.attrs


@pytest.mark.parametrize("name", CONFIGS)
def test_all_columns_of_shipped_experiments_are_described(name):
    """The facts of all generators are known before the run."""
    experiment = load(shipped.locate(name), profile="paper")
    facts = [fact for one in experiment.design.generators for fact in find("generator", one).facts]
    measured = [column.name for column in experiment.design.measured]
    columns = columns_of(experiment)
    names = [*columns.data, *facts, *columns.swept, *measured]
    for name, column in described_columns(experiment.design, names).items():
        assert column.kind, name
        assert column.description, name


def test_a_plugin_describes_columns_in_its_docstring(tmp_path):
    (tmp_path / "own.py").write_text(
        "import numpy as np\n"
        "from greedyexp import Problem, generator\n\n"
        '@generator("notebook_data", provides=("truth",))\n'
        "def data(rng, *, sparsity: int = 1):\n"
        '    """One row.\n\n'
        "    Columns\n    -------\n    first, second\n        Said of\n        two.\n\n"
        "    Notes\n    -----\n    third\n        Not a column.\n"
        '    """\n'
        "    X, truth = rng.standard_normal((9, 3)), np.eye(3)[:, :1]\n"
        '    facts = {"first": 1, "second": 2, "third": 3}\n'
        "    return Problem((X,), (X @ truth[:, 0],), truth, facts=facts)\n"
    )
    changed = {"data": {"generator": "notebook_data"}, "plugins": ["own.py"], "figures": []}
    (tmp_path / "tiny.yaml").write_text(
        yaml.safe_dump({**TINY, **changed, "tables": [], "claims": []})
    )
    with kept_registry():
        path = tmp_path / "tiny.yaml"
        table = greedyexp.run(path, out=tmp_path, engine="serial", progress=False)
    known = table.attrs["columns"]
    for name, said in (("first", "Said of two."), ("second", "Said of two."), ("third", "")):
        assert (known[name]["kind"], known[name]["description"]) == ("fact", said)


def test_rows_that_another_run_replaced_have_no_pictures(tmp_path):
    greedyexp.run(TINY, out=tmp_path, engine="serial", progress=False)
    results = greedyexp.open(tmp_path / "tiny" / "quick")
    greedyexp.run(TINY, out=tmp_path, engine="serial", progress=False, trials=4)
    assert len(results.rows) == 12
    with pytest.raises(StorageError, match=r"replaced these results .* Open the folder again\.$"):
        _ = results.figures


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("tiny/quik", "there is no such folder. Open {out}/tiny/quick."),
        ("nowhere", "there is no such folder. Name a folder that `greedyexp run` has made."),
        ("tiny", "this is not the folder of a run. Open {out}/tiny/quick."),
        ("", "this is not the folder of a run. Open {out}/tiny/quick."),
        ("tiny/quick/tiny.csv", "this is a file, not the folder of a run. Open {out}/tiny/quick."),
        (
            "tiny/quick/figures",
            "this is not the folder of a run. Name a folder that `greedyexp run` has made.",
        ),
    ],
)
def test_other_paths_get_a_sentence(made, path, words):
    folder, _ = made
    out = folder.parent.parent
    (folder / "figures").mkdir(exist_ok=True)
    with pytest.raises(StorageError) as caught:
        greedyexp.open(out / path)
    assert str(caught.value) == f"{out / path}: {words.format(out=out)}"


def test_a_run_without_a_table_is_to_be_run_again(tmp_path):
    (tmp_path / "journal.sqlite").touch()
    (tmp_path / ".next").mkdir()
    with pytest.raises(StorageError, match=r"has no table yet\. Run the experiment again;"):
        greedyexp.open(tmp_path)


def test_a_table_is_not_a_path(made):
    with pytest.raises(ConfigError, match=r"given by its path, but is a DataFrame\.$"):
        greedyexp.open(made[1])


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("tiny.csv", "a,b\n1", r"describes: tiny\.csv\."),
        ("config.yaml", "name: [", "not a readable configuration"),
        ("manifest.json", "{", "the manifest cannot be read"),
    ],
)
def test_damaged_files_get_a_sentence(made, tmp_path, name, content, words):
    shutil.copytree(made[0], tmp_path / "quick")
    (tmp_path / "quick" / name).write_text(content)
    with pytest.raises(StorageError, match=words):
        greedyexp.open(tmp_path / "quick")


def test_the_builtin_function_stays_what_it_is():
    """``import *`` does not replace it, and the import of greedyexp stays light."""
    code = (
        "import builtins, sys; from greedyexp import *; assert open is builtins.open;"
        " import greedyexp; assert 'open' in dir(greedyexp);"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    code = (
        "import sys, greedyexp; dir(greedyexp);"
        " assert not {'numpy', 'pandas', 'IPython', 'tqdm'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_run_says_where_the_results_are(tmp_path, capsys, monkeypatch):
    greedyexp.run(TINY, out=tmp_path, engine="serial")
    said = capsys.readouterr()
    expected = f"tiny (quick): 12 of 12 done, 0 failed; results in {tmp_path / 'tiny' / 'quick'}"
    assert said.err.splitlines()[-1] == expected
    assert said.out == ""
    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    greedyexp.run(TINY, out=tmp_path, engine="serial")
    assert capsys.readouterr().out == f"{expected}\n"
    greedyexp.run(TINY, out=tmp_path, engine="serial", progress=False)
    assert capsys.readouterr() == ("", "")


def test_each_folder_is_described_and_judged_by_its_own_plugin(tmp_path):
    """Two versions of a metric, whose folders are opened before either is used."""
    experiment = {**TINY, "metrics": ["support_size", "notebook_first"], "plugins": ["mine.py"]}
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(experiment))
    for version in ("old", "new"):
        (tmp_path / "mine.py").write_text(
            "from greedyexp import metric\n\n"
            '@metric("notebook_first", better=None)\n'
            "def first(problem, coef):\n"
            f'    """The {version} coefficient."""\n'
            "    return coef[..., 0, 0]\n"
        )
        with kept_registry():
            out = tmp_path / version
            greedyexp.run(tmp_path / "tiny.yaml", out=out, engine="serial", progress=False)
    with kept_registry():
        old, new = (greedyexp.open(tmp_path / one / "tiny" / "quick") for one in ("old", "new"))
        assert old.columns.loc["notebook_first", "description"] == "The old coefficient."
        assert new.columns.loc["notebook_first", "description"] == "The new coefficient."
        assert re.fullmatch("supported|refuted|inconclusive", old.claims["verdict"].iloc[0])
