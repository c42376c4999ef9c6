"""`greedyexp plot` with other rows, styles, widths and formats; titles and captions of figures."""

import pytest
import yaml
from PIL import Image

from greedyexp.cli import main
from greedyexp.config import json_schema, load
from greedyexp.core.errors import ConfigError
from greedyexp.figures._plot.typeset import formulas
from greedyexp.report.figure_notes import read_note
from greedyexp.report.look import Look, inches

CAPTION = "OMP finds the support from 20 samples on (n = 20)."
SETTINGS = {
    "name": "small",
    "data": {
        "generator": "gaussian",
        "p": 12,
        "sparsity": 2,
        "sweep": {"n_samples": [8, 20], "noise_std": [0.1, 0.5]},
    },
    "trials": 2,
    "algorithms": ["omp", "lasso"],
    "metrics": ["support", "training_error"],
    "figures": [
        {
            "phase_transition": {
                "x": "n_samples",
                "row": "noise_std",
                "success": {"default": "support"},
                "title": "Two noises",
                "caption": CAPTION,
            }
        },
        {"comparison": {"row": "n_samples", "metrics": ["support"], "where": {"noise_std": 0.1}}},
    ],
    "tables": [
        {"comparison": {"row": "n_samples", "metrics": ["support"], "where": {"noise_std": 0.1}}}
    ],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("look")
    file = folder / "small.yaml"
    file.write_text(yaml.safe_dump(SETTINGS))
    assert main(["run", str(file), "--out", str(folder / "runs"), "-q", "--engine", "serial"]) == 0
    return folder / "runs" / "small" / "quick"


def plot(run, *options):
    return main(["plot", str(run), *map(str, options)])


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix != "")


def test_a_caption_is_stored_with_the_figure_and_a_title_is_drawn(run):
    for suffix in ("png", "pdf"):
        note = read_note(run / "figures" / f"phase_transition.{suffix}")
        assert note["caption"] == CAPTION
        assert "2 trials per point" in note["note"]
        assert "caption" not in read_note(run / "figures" / f"comparison.{suffix}")


@pytest.mark.parametrize("key", ["title", "caption"])
@pytest.mark.parametrize("text", [3, "two\nlines", ["a"]])
def test_titles_and_captions_are_text(key, text):
    figure = {"comparison": {"row": "n_samples", "metrics": ["support"], key: text}}
    with pytest.raises(ConfigError, match=rf"{key} must be text without line breaks"):
        load({**SETTINGS, "figures": [figure]})
    with pytest.raises(ConfigError, match="has no parameter 'caption'"):
        load({**SETTINGS, "tables": [{"comparison": {**figure["comparison"], "caption": "x"}}]})


def test_the_schema_has_titles_and_captions_of_figures():
    defs = json_schema()["$defs"]
    assert {"title", "caption"} <= set(defs["figure.comparison"]["properties"])
    assert "caption" not in defs["table.comparison"]["properties"]


def test_one_figure_of_some_rows_in_another_format(run, tmp_path):
    before = {path: path.read_bytes() for path in run.rglob("*.*")}
    choice = ["--figure", "phase_transition", "--row", "0.5", "--where", "algorithm=omp"]
    look = ["--format", "svg", "--format", "png", "--width", "3.3in", "--style", "paper"]
    assert plot(run, "--out", tmp_path, *choice, *look) == 0
    drawn = tmp_path / "small" / "quick" / "figures"
    assert files(drawn) == ["phase_transition.png", "phase_transition.svg"]
    with Image.open(drawn / "phase_transition.png") as picture:
        assert picture.size[0] <= 3.3 * 600 + 1
    note = read_note(drawn / "phase_transition.png")
    assert note["command"] == (
        "greedyexp plot small/quick --figure phase_transition --style paper --row 0.5 --width 3.3in"
        " --where algorithm=omp"
    )
    again = (drawn / "phase_transition.svg").read_bytes()
    assert plot(run, "--out", tmp_path, *choice, *look) == 0
    assert (drawn / "phase_transition.svg").read_bytes() == again
    assert {path: path.read_bytes() for path in run.rglob("*.*")} == before


def test_one_figure_can_be_drawn_in_place(run, capsys):
    assert plot(run, "--figure", "comparison") == 0
    assert [line.rpartition("/")[2] for line in capsys.readouterr().out.split()] == [
        "comparison.png",
        "comparison.pdf",
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--style", "paper"], "do not replace those of the run folder. Name another folder"),
        (["--width", "3"], "--width takes a length with its unit, but is '3'"),
        (["--width", "1in"], "--width must be from 2 to 40 inches"),
        (["--figure", "comparsion"], "no figure 'comparsion'. Did you mean 'comparison'?"),
        (["--where", "noise_std"], "is not COLUMN=VALUE"),
        (["--where", "noise_std=0.7"], "no row has noise_std = 0.7"),
        (["--row", ""], "--row takes a value, but is empty"),
        (["--row", "0.5", "--figure", "comparison"], "has no rows of panels here"),
        (["--row", "0.7", "--figure", "phase_transition"], "no row has noise_std = 0.7"),
        (["--format", "gif"], "there is no 'gif'. Known: pdf, png, svg."),
    ],
)
def test_bad_values_are_one_sentence(run, tmp_path, capsys, options, words):
    out = [] if options[0] in ("--style", "--figure") else ["--out", tmp_path]
    assert plot(run, *options, *out) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "width"), [("3.3in", 3.3), ("84 mm", 84 / 25.4), ("8.4cm", 84 / 25.4), ("240pt", 3.32)]
)
def test_widths(text, width):
    assert inches(text) == pytest.approx(width, abs=1e-3)


def test_only_the_choice_of_figures_leaves_the_look_as_it_is():
    assert not Look(figures=("comparison",)).changed
    assert Look(where={"p": 1}).changed


@pytest.mark.parametrize(
    ("plain", "typeset"),
    [
        ("κ = 2/3, p = 512", r"$\kappa$ = 2/3, $p$ = 512"),
        ("Group lasso (l1/linf)", r"Group lasso ($\ell_1/\ell_\infty$)"),
        ("‖w*‖₁ = 3", r"$\|w^*\|_1$ = 3"),
        ("ridge = 4.5·10⁻⁸", r"ridge = $4.5\cdot10^{-8}$"),
        (r"step $\theta$, θ", r"step $\theta$, $\theta$"),
        ("steps = 5", "steps = 5"),
        ("GS-CD, step 1/L1; L1 / n; L1", "GS-CD, step 1/$L_{1}$; $L_{1}$ / $n$; L1"),
        ("mu1, relaxation", r"$\mu_1$, relaxation"),
        ("c >= 1e-8, 9e-08", r"$c$ ≥ $10^{-8}$, $9\cdot10^{-8}$"),
        ("1/log(p)", r"1/$\log(p)$"),
        ("p", "$p$"),
        ("a prize of 5 $ at κ = 1", "a prize of 5 $ at κ = 1"),
    ],
)
def test_formulas(plain, typeset):
    assert formulas(plain) == typeset
