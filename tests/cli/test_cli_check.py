"""``check``: every bad config is refused with one sentence that names the place."""

from __future__ import annotations

import pytest
import yaml
from cli_process import REPOSITORY, answer, refused, write_toy

GOOD = """\
name: {name}
plugins: [toy_plugin.py]
data: {{generator: toy_data, sweep: {{n_samples: [6, 8]}}}}
trials: 3
algorithms: [toy_exact]
metrics: [support]
"""

FILE_DATA = """\
name: {name}
plugins: [toy_plugin.py]
data: {{generator: file, path: {data}}}
trials: 1
algorithms: [toy_exact]
metrics: [support_size]
"""

# name of the bad config: (what to replace in GOOD, by what, words of the one sentence)
BAD_WORDS = {
    "unknown_key": ("trials: 3", "trails: 3", ["unknown_key.yaml:4", "trails", "'trials'"]),
    "unknown_parameter": (
        "sweep: {{n_samples: [6, 8]}}",
        "n_sample: 6",
        ["unknown_parameter.yaml:3", "n_sample", "'n_samples'"],
    ),
    "wrong_type": ("[6, 8]", "[6, many]", ["wrong_type.yaml:3", "n_samples"]),
    "no_trials": ("trials: 3", "trials: 0", ["no_trials.yaml:4", "trials"]),
    "sweep_over_nothing": ("[6, 8]", "[]", ["sweep_over_nothing.yaml:3", "n_samples"]),
    "same_label_twice": ("[toy_exact]", "[toy_exact, toy_exact]", ["toy_exact"]),
    "unknown_algorithm": ("[toy_exact]", "[toy_exakt]", ["unknown_algorithm.yaml:5", "toy_exact"]),
    "unknown_generator": ("toy_data", "toy_date", ["unknown_generator.yaml:3", "toy_data"]),
    "unknown_metric": ("[support]", "[suport]", ["unknown_metric.yaml:6", "support"]),
    "unknown_figure": (
        "trials: 3",
        "figures: [phase_transitio]",
        ["unknown_figure.yaml:4", "phase_transition"],
    ),
    "absent_plugin": ("toy_plugin.py", "absent.py", ["absent.py"]),
    "raising_plugin": ("toy_plugin.py", "raising.py", ["raising.py", "out of luck"]),
    "not_yaml": ("[support]", "[support", ["not_yaml.yaml"]),
    "not_a_mapping": ("GOOD", "", ["not_a_mapping.yaml"]),
    "bad_name": ("name: {name}", "name: ../escape", ["bad_name.yaml:1", "name"]),
}

BAD_DATA = {
    "with_nan": ("a,b,y\n1,2,3\n4,nan,6\n7,8,1\n", ["with_nan.csv:3", "column 'b'"]),
    "with_inf": ("a,b,y\n1,2,3\n4,inf,6\n7,8,1\n", ["with_inf.csv:3", "column 'b'"]),
    "with_words": ("a,b,y\n1,2,3\n4,much,6\n7,8,1\n", ["with_words.csv:3", "much"]),
    "empty": ("", ["empty.csv"]),
    "header_only": ("a,b,y\n", ["header_only.csv", "no rows"]),
    "one_row": ("a,b,y\n1,2,3\n", ["one_row.csv", "1 row"]),
    "constant_response": ("a,b,y\n1,2,3\n4,1,3\n", ["constant_response.csv", "constant"]),
    "no_response": ("a,b,c\n1,2,3\n4,5,6\n7,8,1\n", ["no_response.csv", "response"]),
}


@pytest.fixture(scope="module")
def sentences(tmp_path_factory) -> dict[str, str]:
    """What one ``check`` of a good config and every bad one says of each."""
    folder = tmp_path_factory.mktemp("configs")
    write_toy(folder)
    (folder / "raising.py").write_text("raise RuntimeError('out of luck')\n")
    for name, (old, new, _) in BAD_WORDS.items():
        text = "just words\n" if name == "not_a_mapping" else GOOD.replace(old, new)
        (folder / f"{name}.yaml").write_text(text.format(name=name))
    for name, (content, _) in BAD_DATA.items():
        (folder / f"{name}.csv").write_text(content)
        (folder / f"{name}.yaml").write_text(FILE_DATA.format(name=name, data=f"{name}.csv"))
    names = [*BAD_WORDS, *BAD_DATA]
    result = answer("check", "toy.yaml", *(f"{name}.yaml" for name in names), cwd=folder)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert result.stdout == ("toy.yaml: ok: 2 data points x 3 trials x 1 algorithm = 6 runs\n"), (
        "a bad config must not keep the others from being checked, nor pass"
    )
    lines = result.stderr.splitlines()
    assert len(lines) == len(names), result.stderr
    return dict(zip(names, lines, strict=True))


@pytest.mark.parametrize("name", [*BAD_WORDS, *BAD_DATA])
def test_a_bad_config_or_data_file_gets_one_sentence_with_its_place(sentences, name):
    words = BAD_WORDS[name][2] if name in BAD_WORDS else BAD_DATA[name][1]
    sentence = sentences[name]
    assert sentence.startswith("Error: ")
    assert sentence.endswith((".", "?", ")"))
    for word in words:
        assert word in sentence


def test_a_shipped_config_is_found_by_name_from_any_folder(call, tmp_path):
    (tmp_path / "phase_transition").mkdir()  # a folder of that name is no config
    result = call("check", "phase_transition", "--profile", "smoke", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    written = yaml.safe_load((REPOSITORY / "configs/phase_transition.yaml").read_text())
    smoke = written["profiles"]["smoke"]
    sweep = {**written["data"]["sweep"], **smoke["data"]["sweep"]}
    points = len(sweep["p"]) * len(sweep["kappa"]) * len(sweep["theta"])
    algorithms = len(written["algorithms"])
    runs = points * smoke["trials"] * algorithms
    assert result.stdout == (
        f"ok: {points} data points x {smoke['trials']} trials"
        f" x {algorithms} algorithms = {runs} runs\n"
    )


def test_an_absent_config_names_the_nearest_shipped_one(call, tmp_path):
    result = call("check", "phase_transitoin", cwd=tmp_path)
    refused(result, "phase_transitoin", "Did you mean 'phase_transition'?")
    refused(call("check", ".", cwd=tmp_path), "folder")


def test_an_absent_file_names_the_nearest_one_beside_it(call, tmp_path):
    write_toy(tmp_path)
    (tmp_path / "toys").mkdir()
    (tmp_path / "toy.yaml").rename(tmp_path / "toys" / "threshold.yaml")
    result = call("check", "toys/treshold.yaml", cwd=tmp_path)
    refused(result, "toys/treshold.yaml", "no such file", "Did you mean 'threshold.yaml'?")
    refused(call("check", "absent/toy.yaml", cwd=tmp_path), "no such file")


def test_options_beat_the_file_and_resolved_config_gives_the_same_experiment(call, tmp_path):
    write_toy(tmp_path)
    changes = ["--set", "data.sweep.n_samples=[5, 6, 7]", "--set", "data.p=3"]
    result = call("check", "toy.yaml", *changes, "--trials", "4", cwd=tmp_path)
    assert result.stdout == "ok: 3 data points x 4 trials x 1 algorithm = 12 runs\n"
    resolved = call(
        "check", "toy.yaml", *changes, "--trials", 4, "--seed", 9, "--resolved", cwd=tmp_path
    ).stdout
    config = yaml.safe_load(resolved)
    assert (config["trials"], config["seed"], config["data"]["p"]) == (4, 9, 3)
    (tmp_path / "again.yaml").write_text(resolved)
    again = call("check", "again.yaml", "--resolved", cwd=tmp_path).stdout
    assert again == resolved


def test_only_keeps_what_matches(call, tmp_path):
    write_toy(tmp_path, algorithms="[toy_exact, toy_slow]")
    result = call(
        *("check", "toy.yaml", "--only", "n_samples=8", "--only", "algorithm=toy_slow"),
        cwd=tmp_path,
    )
    assert result.stdout == "ok: 1 data point x 3 trials x 1 algorithm = 3 runs\n"


def test_bad_options_are_refused(call, tmp_path):
    write_toy(tmp_path)
    refused(call("check", "toy.yaml", "--set", "trials", cwd=tmp_path), "trials")
    refused(call("check", "toy.yaml", "--only", "n_sample=8", cwd=tmp_path), "n_samples")
