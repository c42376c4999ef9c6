"""Claims in an experiment file: which are rejected, with which message, and their meaning."""

from __future__ import annotations

import jsonschema
import pytest
import yaml
from experiment_parts import BASE, base, message
from experiment_parts import registered as registered

from greedyexp.claims.entries import compile_claim
from greedyexp.claims.language import Always, Column, Comparison, Monotone, evaluate
from greedyexp.claims.setting import setting_of
from greedyexp.config import load
from greedyexp.config.schema import json_schema
from greedyexp.core import registry


@pytest.fixture(autouse=True)
def success(registered):
    @registry.metric("t_found", better="higher", binary=True)
    def t_found(problem, coef):
        """0 or 1."""


def with_claims(*claims, **changes) -> dict:
    metrics = ["t_found", "t_signs", "t_size"]
    return base(metrics=metrics, claims=list(claims), **changes)


def claim(test, **more) -> dict:
    return {"id": "one", "quote": "It is so.", "test": test} | more


REFUSED = [
    ("threshold(t_path) <", "cannot be read", "Write a comparison"),
    ("threshold(t_path", "cannot be read", "in quotes"),
    ("threshold(t_pth) < 1", "no algorithm 't_pth'", "Did you mean 't_path'?"),
    ("treshold(t_path) < 1", "no function 'treshold'", "Did you mean 'threshold'?"),
    ("threshold(t_path, t_size) < 1", "0 or 1, but 't_size' is not", "t_found"),
    ("proportion(t_path, t_foun) < 1", "no metric 't_foun'", "Did you mean 't_found'?"),
    ("mean(t_path) < 1", "mean needs a metric"),
    ("threshold(t_path, of=s) < 1", "'s' is not swept"),
    ("threshold(t_path, of=kapa) < 1", "Did you mean 'kappa'?"),
    ("threshold(t_path, level=1) < 1", "level must be a number between 0 and 1"),
    ("threshold(t_path, lvl=1) < 1", "no argument 'lvl'", "Did you mean 'level'?"),
    ("threshold() < 1", "must be written threshold(ALGORITHM[, METRIC])"),
    ("threshold(t_path, t_found, metric=t_found) < 1", "duplicate argument 'metric'"),
    ("threshold(t-path) < 1", "must be a name", "in quotes"),
    ("threshold(t_path) == 1", "needs a margin"),
    ("threshold(t_path) * threshold(t_lasso) < 1", "not linear"),
    ("1 / threshold(t_path) < 1", "not linear"),
    ("threshold(t_path) ** 2 < 1", "not linear"),
    ("log(threshold(t_path)) < 1", "is not allowed here"),
    ("threshold(t_path) < theta", "'theta' takes several values"),
    ("threshold(t_path) < t_size", "'t_size' is a metric"),
    ("threshold(t_path) < t_lasso", "'t_lasso' is an algorithm"),
    ("threshold(t_path) < kapa", "no column 'kapa'", "Did you mean 'kappa'?"),
    ("threshold(t_path) < values", "no column 'values'"),
    ("threshold(t_path) < 1 / 0", "not a finite number"),
    ("threshold(t_path) < 10 ** 400", "not a finite number"),
    ("threshold(t_path) < log(0)", "'log(0)' is not a finite number"),
    ("threshold(t_path) < kappa + sqrt(1 - 2)", "'sqrt(1 - 2)' is not a finite number"),
    ("abs(threshold(t_path)) < 1", "is not allowed here"),
    ("always(t_size <= p / log(1 - 1))", "not a finite number"),
    ("threshold(t_path) < proportion(t_path)", "cannot be compared"),
    ("proportion(t_path) > 1.5", "never holds", "lie between 0 and 1", "another number"),
    ("proportion(t_path) >= 0", "always holds"),
    ("1 < average(proportion(t_path), theta)", "never holds"),
    ("2 * proportion(t_path) < 0.5 * proportion(t_lasso) - 0.5", "never holds"),
    ("threshold(t_path) < threshold(t_path, of=p)", "different columns"),
    ("threshold(t_path) < threshold(t_path)", "same quantities on both sides"),
    ("1 < 2", "does not compare a threshold"),
    ("threshold(t_path)", "is not a test"),
    ("0 < threshold(t_path) < 1", "exactly one comparison"),
    ("threshold(t_path) != 1", "<, <=, >, >= or =="),
    ("threshold(t_path) % 2 < 1", "operator"),
    ("increasing(threshold(t_path), s)", "'s' is not swept"),
    ("increasing(threshold(t_path), theta)", "already runs along 'theta'"),
    ("increasing(p, kappa)", "needs a quantity"),
    ("increasing(threshold(t_path), kappa) < 1", "a complete test"),
    ("slope(threshold(t_path), log(s)) < 1", "slope needs a swept column", "kappa"),
    ("limit(threshold(t_path), 1 / log(p)) < p", "'p' takes several values"),
    ("limit(threshold(t_path), p) < threshold(t_path)", "another trend"),
    ("limit(threshold(t_path), p) < limit(threshold(t_path), kappa)", "different columns"),
    ("limit(slope(threshold(t_path), p), kappa) < 1", "another slope, limit or average"),
    ("average(threshold(t_path), log(p)) < 1", "average needs a column"),
    ("average(threshold(t_path)) < 1", "must be written average(quantity, column)"),
    ("average(threshold(t_path), s) < 1", "average needs a swept column"),
    ("ratio(threshold(t_path), threshold(t_lasso)) < 1", "two means"),
    (
        "ratio(mean(t_path, t_size), mean(t_lasso, t_size))"
        " < ratio(mean(t_lasso, t_size), mean(t_path, t_size))",
        "not with another ratio",
    ),
    ("always(t_size)", "needs a comparison"),
    ("always(1 < 2)", "has no column"),
    ("always(t_size == 1)", "one of <, <=, > and >="),
    ("always(t_sise <= p)", "Did you mean 't_size'?"),
    ("__import__('os').system('true') < 1", "is not allowed in a claim"),
    ("threshold(t_path).x < 1", "is not allowed in a claim"),
    ("(lambda: 1)() < threshold(t_path)", "is not allowed in a claim"),
    ("threshold(t_path) < True", "is not allowed in a claim"),
    ("[threshold(t_path)] < 1", "is not allowed in a claim"),
    ("(" * 500 + "1" + ")" * 500 + " < threshold(t_path)", "cannot be read"),
]


@pytest.mark.parametrize(("test", "words"), [(case[0], case[1:]) for case in REFUSED])
def test_an_invalid_test_is_an_error_with_one_sentence(test, words):
    said = message(with_claims(claim(test)))
    assert said.startswith("claims[0].test: ")
    assert len(said) < 400
    for word in words:
        assert word in said


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"quote": "q", "test": "t"}, ("'id' is missing",)),
        ({"id": "a", "test": "t"}, ("'quote' is missing",)),
        ({"id": "a", "quote": "q"}, ("'test' is missing",)),
        (claim("threshold(t_path) < 1", tset=1), ("unknown key 'tset'", "Did you mean 'test'?")),
        (claim("threshold(t_path) < 1", id="a b"), ("id must be made of letters",)),
        (claim([]), ("test must be",)),
        (claim("threshold(t_path) < 1", margin=0.1), ("a margin is allowed only with ==",)),
        (claim("threshold(t_path) == 1", margin=0), ("margin must be more than 0",)),
        (claim("threshold(t_path) < 1", where={"kapa": 1}), ("'kapa'", "Did you mean 'kappa'?")),
        (claim("threshold(t_path) < 1", where={"kappa": 0.305}), ("Did you mean 0.3?",)),
        (claim("threshold(t_path) < 1", where={"kappa": 3}), ("kappa must be at most 1",)),
        (claim("threshold(t_path) < 1", where={"p": "x"}), ("p must be a whole number",)),
        (claim("threshold(t_path) < 1", where={"values": "sing"}), ("Did you mean 'sign'?",)),
        (claim("threshold(t_path) < 1", where={"algorithm": "t_pat"}), ("Did you mean 't_path'?",)),
        ("threshold(t_path) < 1", ("an entry of claims must be a mapping", "Write id: ...")),
    ],
)
def test_an_invalid_entry_is_an_error_with_one_sentence(entry, words):
    said = message(with_claims(entry))
    for word in words:
        assert word in said


def test_duplicate_ids_are_an_error():
    said = message(with_claims(claim("threshold(t_path) < 1"), claim("threshold(t_path) < 2")))
    assert "two claims have the id 'one'" in said


def test_the_line_of_the_test_is_named(tmp_path):
    file = tmp_path / "e.yaml"
    text = BASE.replace("metrics: [", "metrics: [t_found, ")
    claims = """\
claims:
  - id: one
    quote: q
    test:
      - threshold(t_path) < 1
      - threshold(t_path) < kapa
"""
    file.write_text(text + claims)
    line = (text + claims).splitlines().index("      - threshold(t_path) < kapa") + 1
    assert message(file).startswith(f"{file}:{line}: there is no column 'kapa'")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"printed": "a", "used": "b"}, "'because' is missing"),
        ({"printed": "a", "used": "b", "because": "c", "why": "d"}, "unknown key 'why'"),
    ],
)
def test_readings_are_checked(entry, words):
    assert words in message(with_claims(readings=[entry]))


def test_resolved_settings_give_the_same_claims():
    entry = claim("threshold(t_path) == 1 - kappa / 2", margin=0.1, where={"p": [64, 128]})
    readings = [{"printed": "a", "used": "b", "because": "c"}]
    first = load(with_claims(entry, readings=readings))
    assert first.resolved["claims"] == [entry]
    assert first.resolved["readings"] == readings
    again = load(yaml.safe_load(yaml.safe_dump(first.resolved)))
    assert again.claims == first.claims
    assert (again.claims[0].figure, again.claims[0].where) == ("Figure 1", {"p": [64, 128]})


def test_profiles_and_the_command_line_replace_claims():
    settings = with_claims(
        claim("threshold(t_path) < 1"),
        profiles={"smoke": {"claims": [claim("proportion(t_path) < 1", id="two")]}},
    )
    assert [one.id for one in load(settings, profile="smoke").claims] == ["two"]
    assert [one.id for one in load(settings).claims] == ["one"]
    none = load(settings, overrides=["claims=[]"])
    assert none.claims == []
    assert "claims" not in none.resolved


def test_a_value_of_another_profile_is_valid():
    settings = with_claims(claim("threshold(t_path) < 1", where={"p": 512}))
    assert load(settings).claims[0].where == {"p": 512}


def test_the_family_is_the_figure_of_the_paper_or_the_experiment():
    entry = claim("threshold(t_path) < 1")
    assert load(with_claims(entry)).claims[0].figure == "Figure 1"
    assert load(with_claims(entry, paper=None)).claims[0].figure == "trial_run"
    own = claim("threshold(t_path) < 1", figure="Table 2")
    assert load(with_claims(own)).claims[0].figure == "Table 2"


def first_test(experiment):
    design = experiment.design
    columns = experiment.points[0].cells
    numbers = [name for name, value in columns.items() if not isinstance(value, str)]
    setting = setting_of(design, design.measured, numbers)
    entry = experiment.claims[0].model_dump()
    return compile_claim(entry, setting, design.family).tests[0]


def parsed(test, **more):
    return first_test(load(with_claims(claim(test, **more))))


def test_both_sides_become_one_form_against_a_boundary():
    test = parsed(
        "2 * threshold(t_path) - kappa <= (threshold(t_lasso) + 1) / p - threshold(t_path)"
    )
    assert isinstance(test, Comparison)
    values = {Column("kappa"): 0.5, Column("p"): 4}
    found = {q.algorithm: float(evaluate(c, values)) for q, c in test.form.terms}
    assert found == {"t_path": 3, "t_lasso": -0.25}
    assert float(evaluate(test.boundary, values)) == 0.75
    assert test.relation == "<="


@pytest.mark.parametrize(
    ("test", "kind"),
    [
        ("threshold('t_path', 't_found', of='p', level=0.9) > -1", Comparison),
        ("0.5 < proportion(t_path)", Comparison),
        ("ratio(mean(t_path, t_size), mean(t_lasso, t_size)) <= 0.5 * kappa", Comparison),
        ("slope(threshold(t_path), log(p)) < slope(threshold(t_lasso), log(p))", Comparison),
        ("limit(threshold(t_path) / 2, 1 / log(p)) >= 1 - kappa / 2", Comparison),
        ("threshold(t_path) < abs(kappa - 1)", Comparison),
        ("always(abs(t_size(t_path) - t_size(t_lasso)) <= p)", Always),
        ("decreasing(threshold(t_path) - threshold(t_lasso), kappa)", Monotone),
        ("increasing(limit(threshold(t_path), 1 / p), kappa)", Monotone),
        ("always(t_size <= 2 * p ** 0.5 + t_found)", Always),
    ],
)
def test_the_vocabulary(test, kind):
    assert isinstance(parsed(test), kind)


def test_the_default_metric_is_the_first_that_is_0_or_1_or_that_of_the_trials():
    ((quantity, _),) = parsed("threshold(t_path) < 1").form.terms
    assert (quantity.metric, quantity.of, quantity.level) == ("t_found", "theta", 0.5)

    @registry.metric("t_also", better="higher", binary=True)
    def t_also(problem, coef):
        """0 or 1."""

    trials = {"until": {"half_width": 0.1}, "success": {"t_path": "t_also"}}
    settings = with_claims(claim("threshold(t_path) < threshold(t_lasso)"), trials=trials)
    settings["metrics"].append("t_also")
    test = first_test(load(settings))
    assert [q.metric for q, _ in test.form.terms] == ["t_also", "t_found"]


def test_the_schema_knows_claims():
    validator = jsonschema.Draft202012Validator(json_schema())
    validator.validate(with_claims(claim(["threshold(t_path) < 1"], where={"p": 64}, note="n")))
    for bad in (claim("a", tset=1), {"id": "a", "quote": "q"}, claim("a", id="a b")):
        assert not validator.is_valid(with_claims(bad))


def test_claims_about_parts_removed_on_the_command_line_are_dropped():
    settings = with_claims(
        claim("threshold(t_path) < threshold(t_lasso)", id="both"),
        claim("threshold(t_lasso) > 0", id="kept"),
    )
    assert [one.id for one in load(settings).claims] == ["both", "kept"]
    changed = load(settings, overrides=["algorithms=[t_lasso]"])
    assert [one.id for one in changed.claims] == ["kept"]
    assert changed.dropped == {"both": "there is no algorithm 't_path' in the experiment."}
    assert [entry["id"] for entry in changed.resolved["claims"]] == ["kept"]
    assert load(changed.resolved).claims == changed.claims
    # An invalid claim, or one from the command line, is still an error.
    assert "unknown key 'tst'" in message(
        with_claims(claim("threshold(t_lasso) > 0", tst=1)), overrides=["trials=4"]
    )
    for wrong, words in (
        (claim("threshold(t_laso) > 0", id="typo"), "no algorithm 't_laso'"),
        (claim("threshold(t_lasso", id="cut"), "cannot be read"),
        (claim("threshold(t_lasso) > 0", id="where", where={"kapa": 0.3}), "no column 'kapa'"),
    ):
        both = with_claims(claim("threshold(t_path) < threshold(t_lasso)", id="both"), wrong)
        for change in ("trials=4", "algorithms=[t_lasso]"):
            assert words in message(both, overrides=[change])
    assert "no algorithm 't_pth'" in message(
        settings, overrides=['claims=[{id: a, quote: b, test: "threshold(t_pth) < 1"}]']
    )
