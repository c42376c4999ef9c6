"""The page of the estimators lists all of them as they are, and its examples run."""

import re

import numpy as np
import pytest
from cli_process import REPOSITORY
from sklearn.base import is_classifier

from greedyexp import estimators

PAGE = (REPOSITORY / "docs" / "guide" / "estimators.md").read_text(encoding="utf-8")
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| `")
]


def test_the_page_lists_every_estimator_once():
    named = [re.findall(r"`(\w+)`", cell) for row in ROWS for cell in row[:2]]
    coder = "OMPCoder"
    assert f"## Sparse codes: `{coder}`" in PAGE
    names = [coder, *(name for names in named for name in names)]
    assert sorted(names) == sorted(estimators.__all__)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_says_what_the_estimator_is(row):
    plain, tuned, algorithms, responses, sparse = row
    made = getattr(estimators, plain.strip("`"))()
    if tuned:
        assert tuned == plain[:-1] + "CV`"
        assert issubclass(getattr(estimators, tuned.strip("`")), type(made))
    assert re.findall(r"`(\w+)`", algorithms) == list(made.algorithms.values())
    kind = "several" if made.multi_output else "one"
    classes = "classes" if made.several else "two classes"
    assert responses == (classes if is_classifier(made) else kind)
    tags = made.__sklearn_tags__().input_tags
    if sparse == "without an intercept":
        assert not tags.sparse
        assert made.set_params(fit_intercept=False).__sklearn_tags__().input_tags.sparse
    else:
        assert tags.sparse == (sparse == "yes")


def python_blocks(text):
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_examples_of_the_page_run(capsys):
    block, of_codes = python_blocks(PAGE)
    space = {}
    exec(of_codes, space)
    assert space["codes"].shape == (1000, 256)
    exec(block, space)
    assert list(space["model"].support_) == [3, 7]
    assert space["model"].coef_.shape == (2, 50)
    assert space["search"].best_params_ == {"max_features": 2}
    assert capsys.readouterr().out.startswith("[3 7]\n(2, 50) [")


def test_five_lines_of_the_readme_fit_a_pipeline():
    (block,) = [one for one in python_blocks(README) if "greedyexp.estimators" in one]
    assert len(list(filter(None, block.splitlines()))) == 5
    space = {}
    exec(block, space)
    X, y = space["load_diabetes"](return_X_y=True)
    assert space["model"].score(X, y) > 0.45
    assert np.isfinite(space["model"].predict(X)).all()
