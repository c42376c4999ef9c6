"""Every mistake in a file is one sentence with the line it stands on."""

from __future__ import annotations

import re
from typing import Annotated

import pytest
from experiment_parts import BASE, base, message, registered  # noqa: F401 (an autouse fixture)
from pydantic import AfterValidator

from greedyexp.config import load
from greedyexp.core import registry

PATH, LASSO, METRICS = (
    "- t_path: {w: [1.05, 1.5], tuning: oracle}",
    "- t_lasso",
    "[t_signs, t_size]",
)
NOISE = "noise_std: 0.1"

MISTAKES = [
    # unknown keys at every level
    ("seed: 7", "sed: 7", 3, "unknown key 'sed'. Did you mean 'seed'?"),
    ("key: jalali2012,", "key: a, fig: b,", 2, "unknown key 'fig'. Did you mean 'figure'?"),
    ("trials: 3", "trials: {until: {half_with: 1}}", 11, "'half_with'. Did you mean 'half_width'?"),
    (METRICS, "[t_size]\nreadings: [{used: a, prnted: b, because: c}]", 16, "mean 'printed'?"),
    (METRICS, "[t_size]\nclaims: [{id: a, qote: b, test: c}]", 16, "mean 'quote'?"),
    (
        METRICS,
        "[t_size]\ntables: [{comparison: {row: p, metrics: {t_size: {tite: x}}}}]",
        16,
        "unknown key 'tite'. Did you mean 'title'?",
    ),
    (NOISE, "noise: 0.1", 6, "no parameter 'noise'. Did you mean 'noise_std'?"),
    ("kappa: [0.8, 0.3]", "kapa: [0.8]", 9, "no parameter 'kapa' to sweep. Did you mean 'kappa'?"),
    (LASSO, "- t_lasso: {tol: 1}", 14, "no parameter 'tol'."),
    (LASSO, "- t_path: {label: a, sweep: {un: [1]}}", 14, "no parameter 'un' to sweep"),
    ("x: theta", "x: theta, lines: p", 17, "no parameter 'lines'. Did you mean 'line'?"),
    # parts that do not exist
    ("t_overlap", "t_overlp", 5, "no generator named 't_overlp'. Did you mean 't_overlap'?"),
    (LASSO, "- t_laso", 14, "no algorithm named 't_laso'. Did you mean 't_lasso'?"),
    ("t_signs,", "t_sign,", 15, "no metric named 't_sign'. Did you mean 't_signs'?"),
    ("- t_curve:", "- t_curv:", 17, "no figure named 't_curv'. Did you mean 't_curve'?"),
    ("trials: 3", "protocol: recovry", 11, "no protocol named 'recovry'. Did you mean 'recovery'?"),
    (
        "x: theta",
        "x: thta",
        17,
        "a column 'thta', which the CSV will not have. Did you mean 'theta'",
    ),
    # wrong types and values out of range
    ("name: trial_run", "name: trial run", 1, "letters, digits, '-' and '_' only"),
    ("name: trial_run", "name: 3", 1, "name must be a text, but is 3"),
    ("name: trial_run", f"name: {'a' * 101}", 1, "at most 100 characters"),
    ("seed: 7", "seed: -7", 3, "seed must be at least 0, but is -7"),
    ("seed: 7", "seed: 7.5", 3, "seed must be a whole number, but is 7.5"),
    ("seed: 7", "seed: true", 3, "seed must be a whole number, but is true"),
    ("seed: 7", "seed: .nan", 3, "seed must be finite, but is nan"),
    ("trials: 3", "trials: 0", 11, "trials must be at least 1, but is 0"),
    ("trials: 3", "trials: yes", 11, "trials must be a whole number or a mapping, but is 'yes'"),
    ("trials: 3", "trials: '3'", 11, "trials must be a whole number or a mapping, but is '3'"),
    ("trials: 3", "trials: [3]", 11, "trials must be a whole number or a mapping, but is [3]"),
    ("trials: 3", "trials: 3\ntime_limit: 0", 12, "time_limit must be more than 0, but is 0"),
    ("trials: 3", "trials: 3\ntime_limit: .inf", 12, "time_limit must be finite, but is inf"),
    ("trials: 3", "trials: 3\nplugins: a.py", 12, "plugins must be a list, but is 'a.py'"),
    ("{key: jalali2012, figure: Figure 1}", "{figure: a}", 2, "'key' is missing"),
    ("{key: jalali2012, figure: Figure 1}", "JS12", 2, "paper must be a mapping, but is 'JS12'"),
    (NOISE, "noise_std: -1", 6, "noise_std must be at least 0, but is -1"),
    (NOISE, "noise_std: .nan", 6, "noise_std must be finite, but is nan"),
    (NOISE, "noise_std: -.inf", 6, "noise_std must be finite, but is -inf"),
    (NOISE, "noise_std: 1e400", 6, "noise_std must be finite, but is inf"),
    (NOISE, "noise_std: true", 6, "noise_std must be a number, but is true"),
    (NOISE, "noise_std: on", 6, "noise_std must be a number, but is 'on'"),
    (NOISE, "noise_std:", 6, "noise_std must be a number, but is empty"),
    (NOISE, "noise_std: [0.1, 0.2]", 6, "takes one value here, but is [0.1, 0.2]. To vary it"),
    (NOISE, "noise_std: {from: 0, to: 1, num: 3}", 6, "noise_std takes one value here"),
    (NOISE, "values: gausian", 6, "one of 'sign' or 'gaussian', but is 'gausian'. Did you mean"),
    ("[0.8, 0.3]", "[0.8,\n      1.3]", 10, "kappa must be at most 1, but is 1.3"),
    ("p: [64, 128]", "p: [64, 12.5]", 8, "p must be a whole number, but is 12.5"),
    ("w: [1.05, 1.5]", "w: [1.05,\n    2.5]", 14, "item 2 of w must be less than 2, but is 2.5"),
    ("w: [1.05, 1.5]", "w: 1.5", 13, "w must be a list, but is 1.5"),
    ("w: [1.05, 1.5]", "w: []", 13, "w must be a list of at least 1 item, but is []"),
    ("line: [algorithm, p]", "line: 3", 17, "line must be a list or a text, but is 3"),
    ("line: [algorithm, p]", "line: [p, 3]", 17, "item 2 of line must be a text, but is 3"),
    ("line: [algorithm, p]", "logx: 1", 17, "logx must be true or false, but is 1"),
    # something missing
    ("name: trial_run", "", 1, "'name' is missing"),
    ("metrics: [t_signs, t_size]", "", 1, "protocol 'recovery' needs at least one metric"),
    ("generator: t_overlap", "s: 3", 4, "'generator' is missing in data"),
    ("generator: t_overlap", "generator: 3", 5, "generator must be a name, but is 3"),
    ("p: [64, 128]", "s: [4]", 4, "generator 't_overlap' needs a value for 'p'"),
    (LASSO, "- t_single", 14, "algorithm 't_single' needs a value for 'k'"),
    ("x: theta, ", "", 17, "figure 't_curve' needs a value for 'x'"),
    # twice
    (NOISE, "p: 64", 6, "p has one value here, but is also swept"),
    (LASSO, "- t_path", 14, "two algorithms have the label 't_path'"),
    (LASSO, "- t_lasso: {label: t_path}", 14, "two algorithms have the label 't_path'"),
    (METRICS, "[t_signs,\n  t_signs]", 16, "metric 't_signs' is listed twice"),
    (LASSO, "- t_path: {label: a, nu: 0.5, sweep: {nu: [0.1]}}", 14, "nu has one value here"),
    # entries written wrongly
    (LASSO, "- t_path:\n    nu: 0.3", 15, "Indent the settings below 't_path:'"),
    (LASSO, "- 3", 14, "an entry of algorithms must be a name or 'name: {...}', but is 3"),
    (LASSO, "- t_lasso: 3", 14, "the settings of 't_lasso' must be a mapping, but are 3"),
    (LASSO, "- t_lasso: {label: ''}", 14, "label must be a single line of text"),
    (LASSO, r"- t_lasso: {label: 'a $\lambda_$'}", 14, r"cannot be typeset: 'a $\lambda_$'"),
    (LASSO, "- t_lasso: {label: 3}", 14, "label must be a single line of text"),
    (LASSO, '- t_lasso: {label: "a\\nb"}', 14, "label must be a single line of text"),
    (METRICS, "[]", 15, "needs at least one metric"),
    (METRICS, "{t_signs: 1}", 15, "metrics must be a list, but is {t_signs: 1}. Start each entry"),
    # losses of two classes
    (LASSO, "- foba_gdt: {loss: logistic, max_features: 2}", 14, "needs responses of two values"),
    (LASSO, "- fully_corrective: {loss: hinge, beta: 1}", 14, "needs responses of two values"),
    # tuning
    (LASSO, "- t_single: {k: 3, tuning: cv}", 14, "algorithm 't_single' has no path to tune"),
    (LASSO, "- t_single: {k: 3, folds: 5}", 14, "algorithm 't_single' has no path to tune"),
    (LASSO, "- t_lasso: {tuning: orakle}", 14, "but is 'orakle'. Did you mean 'oracle'?"),
    (LASSO, "- foba_gdt: {loss: logistic, tuning: ebic_robust}", 14, "'foba_gdt' minimises loss"),
    (LASSO, "- t_lasso: {tuning: theory}", 14, "no theory prescribes the tuning of algorithm 't_l"),
    (LASSO, "- t_lasso: {folds: 1}", 14, "folds must be at least 2, but is 1"),
    (LASSO, "- t_lasso: {folds: true}", 14, "but is true"),
    # impossible points
    (
        "p: [64, 128]",
        "p: [2, 3, 64]",
        7,
        "impossible data at p = 2, kappa = 0.3, theta = 0.4: s must",
    ),
    (
        "from: 0.4",
        "from: 0.2",
        7,
        "theta = 0.2: theta gives n = 0 samples. (3 more of the 24 points",
    ),
]


@pytest.mark.parametrize(("old", "new", "line", "words"), MISTAKES)
def test_a_mistake_is_one_sentence_with_its_line(tmp_path, old, new, line, words):
    assert old in BASE
    file = tmp_path / "a.yaml"
    file.write_text(BASE.replace(old, new, 1))
    error = message(file)
    assert error.startswith(f"{file}:{line}: ")
    assert words in error
    assert "\n" not in error
    assert not re.search(r"pydantic|type=|input_value|Traceback", error)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "t_curve: {x: theta, line: [algorithm, p]}",
            "comparison: {row: p, metrics: &m {t_size: {digits: x}}}\n"
            "  - comparison: {row: kappa, metrics: *m}",
            "digits must be a whole number",
        ),
        (
            PATH,
            "- t_path: &p {w: [1], tuning: oracle}\n  - t_path: *p",
            "item 1 of w must be more than 1",
        ),
    ],
)
def test_a_mistake_that_an_alias_puts_into_two_entries_is_told_once(tmp_path, old, new, words):
    file = tmp_path / "a.yaml"
    file.write_text(BASE.replace(old, new))
    assert message(file).count(words) == 1


def test_a_mapping_in_place_of_a_list_is_shown(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text(BASE.replace(f"{PATH}\n", "").replace("- t_lasso", "t_lasso: {nu: 1}"))
    assert "algorithms must be a list, but is {t_lasso: {nu: 1}}. Start each" in message(file)


def test_mistakes_are_told_by_line_and_those_past_the_twentieth_counted(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text(BASE.replace("- t_lasso", "- t_laso").replace(NOISE, "noise_std: -1"))
    error = message(file)
    assert error.startswith(f"{file}:6: noise_std must be at least 0")
    assert f"Also: {file}:" in error
    assert error.endswith("there is no algorithm named 't_laso'.")
    text = file.read_text()
    file.write_text(text.replace("[0.8, 0.3]", str([*range(2, 20)])))
    assert message(file).count(f"{file}:") == 20
    file.write_text(text.replace("[0.8, 0.3]", str([*range(2, 21)])))
    assert message(file).endswith(" There is one more.")


READING = {"printed": "n", "used": "n", "because": "c"}


@pytest.mark.parametrize("reading", [{"because": 0.5}, {"printed": []}, {"used": None}, 3])
def test_a_wrong_reading_is_told_beside_the_mistakes_of_other_sections(reading):
    wrong = reading if reading == 3 else READING | reading
    error = message(base(readings=[READING, wrong], algorithms=["t_laso"]))
    assert "there is no algorithm named 't_laso'." in error
    assert "readings[1]" in error
    assert "must be a" in message(base(readings=[wrong]))


def test_a_wrong_setting_hides_no_mistake_of_a_section(tmp_path):
    file = tmp_path / "a.yaml"
    text = BASE.replace("trials: 3", "trials: many").replace("name: trial_run", "name: 3")
    file.write_text(text.replace(LASSO, "- t_laso"))
    found = message(file)
    for line, words in ((1, "name must be"), (11, "trials must be"), (14, "named 't_laso'")):
        assert re.search(rf"\.yaml:{line}: [^:]*{words}", found)


def test_a_missing_data_file_is_told_at_its_line_beside_other_mistakes(tmp_path):
    file = tmp_path / "a.yaml"
    data = "data:\n  generator: file\n  path: lost.npz\n"
    file.write_text(f"name: a\n{data}algorithms: [t_laso]\nmetrics: [t_size]\n")
    found = message(file)
    assert f"{file}:4: lost.npz: there is no such data file in " in found
    assert f"{file}:5: there is no algorithm named 't_laso'." in found


@pytest.mark.parametrize("character", ["\0", "\a", "\x7f"])
def test_a_character_that_yaml_does_not_allow_is_named(tmp_path, character):
    file = tmp_path / "a.yaml"
    file.write_text(BASE.replace(NOISE, f"noise_std: {character}1"))
    error = message(file)
    line = file.read_text().split(character)[0].count("\n") + 1
    code = f"U+{ord(character):04X}"
    assert error.startswith(
        f"{file}:{line}: the text contains the character {code}, which YAML does"
    )


def test_mistakes_in_a_mapping_name_the_key():
    data = {"generator": "t_overlap", "p": 8, "sweep": {"kappa": [0.5, 2]}}
    assert message(base(data=data)).startswith("data.sweep.kappa[1]: kappa must be at most 1")
    assert message({}).startswith("experiment: ")


def on_file(**changes):
    """An experiment on a generator that knows no truth and makes one task."""
    return base(
        **{
            "data": {"generator": "t_file", "name": "a"},
            "algorithms": ["t_lasso"],
            "metrics": ["t_size"],
            "profiles": None,
            **changes,
        }
    )


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            on_file(algorithms=["t_path"]),
            "algorithm 't_path' needs several tasks but generator 't_file' makes one.",
        ),
        (
            on_file(metrics=["t_signs"]),
            "metric 't_signs' needs the true coefficients but generator 't_file' does not know",
        ),
        (
            on_file(algorithms=[{"t_lasso": {"tuning": "oracle"}}]),
            "tuning 'oracle' needs the true coefficients but generator 't_file'",
        ),
        (
            base(algorithms=["t_odd"]),
            "algorithm 't_odd' needs the trait 'groups' but generator 't_overlap' does not have it",
        ),
        (
            base(
                data={"generator": "t_overlap", "p": 8, "sweep": {"noise_std": [0, 0.1]}},
                algorithms=[{"t_path": {"tuning": "theory"}}],
            ),
            "needs the noise level but generator 't_overlap' does not give it at noise_std = 0.0.",
        ),
    ],
)
def test_impossible_pairs_are_refused(source, words):
    assert words in message(source)


def test_rows_held_out_are_asked_for_in_their_own_words():
    @registry.metric("t_held", better="lower", requires=("test_rows",))
    def t_held(problem, coef):
        """Error on rows held out."""

    error = message(base(metrics=["t_held"]))
    assert (
        "metric 't_held' needs rows held out for testing but generator 't_overlap' holds" in error
    )


COLUMNS = ["replicate", "algorithm", "status", "message", "tuning", "t_size"]


@pytest.mark.parametrize("name", COLUMNS)
def test_two_columns_of_one_name_are_refused(name):
    namespace = {"registry": registry}
    exec(
        f"@registry.generator('t_clash')\ndef t_clash(rng, *, {name}: int = 1):\n    pass",
        namespace,
    )
    error = message(on_file(data={"generator": "t_clash"}))
    assert error.startswith(f"data: two columns of the CSV would be named '{name}'")


def test_a_swept_algorithm_parameter_must_not_hide_a_data_parameter():
    @registry.algorithm("t_clash")
    def t_clash(problem, *, p: int = 1):
        """Has a parameter that the generator has too."""

    entry = {"t_clash": {"sweep": {"p": [1, 2]}}}
    error = message(base(algorithms=[entry]))
    assert error.startswith("algorithms: two columns of the CSV would be named 'p'")


_READ: list[list[int]] = []


def _noted(sizes: list[int]) -> list[int]:
    _READ.append(sizes)
    return sizes


def test_a_default_is_read_once_in_a_process_and_stays_as_it_is():
    _READ.clear()

    @registry.algorithm("t_listed")
    def t_listed(problem, *, sizes: Annotated[list[int], AfterValidator(_noted)] = (1, 2)):
        """Its default is a list."""

    load(base(algorithms=["t_listed"]))
    load(base(algorithms=[{"t_listed": {"label": "again"}}]))
    assert _READ == [[1, 2]]

    @registry.figure("t_named", columns=lambda **_: (), by_algorithm="labels")
    def t_named(table, context, *, labels: list[str] = ("t_path", "gone")):
        """Its default names an algorithm that may be missing."""

    profiles = {"smoke": {"algorithms": ["t_path"]}}
    for _ in range(2):
        made = load(base(figures=["t_named"], profiles=profiles), profile="smoke")
        assert made.figures[0].params["labels"] == ["t_path"]
    assert "names an algorithm 'gone'" in message(base(figures=["t_named"]))


def test_broken_parts_are_told_from_broken_files():
    def check(**_):
        raise TypeError("oops")

    @registry.generator("t_broken", check=check)
    def t_broken(rng, *, p: int = 1):
        """Its check does not work."""

    error = message(on_file(data={"generator": "t_broken"}))
    assert "the check of generator 't_broken' raised TypeError: oops" in error

    @registry.generator("t_untrue")
    def t_untrue(rng, *, p: int = "many"):
        """Its default is not of its type."""

    error = message(on_file(data={"generator": "t_untrue"}))
    assert "the default of p contradicts its type: p must be a whole number" in error
