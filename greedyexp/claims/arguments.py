"""Reading the arguments of the functions of the claim language."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from greedyexp.claims.expressions import Measurement
from greedyexp.claims.quantities import (
    Always,
    Form,
    Mean,
    Proportion,
    Ratio,
    Threshold,
    algorithms_of,
)
from greedyexp.claims.setting import Setting
from greedyexp.core.errors import ConfigError, did_you_mean

OPTIONS = {"threshold": ("metric", "of", "level"), "proportion": ("metric",), "mean": ("metric",)}


def mistake(message: str, remedy: str = "") -> ConfigError:
    """An error in a claim; whoever knows where the claim stands adds the place."""
    return ConfigError(message, remedy=remedy or None)


def shortened(text: str) -> str:
    """A piece of a test, short enough for a sentence."""
    return text if len(text) <= 60 else f"{text[:56]} ..."


def written(node: ast.expr) -> str:
    """What a node of a test reads like."""
    return shortened(ast.unparse(node))


def function_name(node: ast.Call, known: Iterable[str]) -> str:
    """The function that is called.

    Raises
    ------
    ConfigError
        When the language has no such function.
    """
    if not isinstance(node.func, ast.Name):
        raise mistake(f"'{written(node)}' has no meaning in a claim.")
    if node.func.id not in known:
        raise mistake(
            f"there is no function '{node.func.id}' in claims.", did_you_mean(node.func.id, known)
        )
    return node.func.id


def positional(node: ast.Call, name: str, wanted: tuple[str, ...]) -> list[ast.expr]:
    """The arguments of a function that takes all of them by position."""
    starred = any(isinstance(argument, ast.Starred) for argument in node.args)
    if node.keywords or starred or len(node.args) != len(wanted):
        raise mistake(f"{name} is written {name}({', '.join(wanted)}).")
    return node.args


def known_column(name: str, known: tuple[str, ...], setting: Setting) -> str:
    """The column, if an expression here may name it."""
    if name in known:
        return name
    if name in setting.algorithms:
        raise mistake(
            f"'{name}' is an algorithm and has no value.", f"Write threshold({name}) or the like."
        )
    if name in setting.measured:
        raise mistake(
            f"'{name}' is a metric, which differs between replicates.",
            f"Write mean(ALGORITHM, {name}) or always(...).",
        )
    raise mistake(f"there is no column '{name}'.", did_you_mean(name, known))


def is_swept(column: str, form: Form, setting: Setting) -> bool:
    """Whether the data or an algorithm of the form sweeps the column."""
    return bool(setting.mates(column, algorithms_of(form)))


def check_swept(column: str, form: Form, name: str, setting: Setting) -> None:
    """Refuse a column that takes one value.

    Raises
    ------
    ConfigError
        With the nearest swept column.
    """
    if not is_swept(column, form, setting):
        known = (*setting.shared, *setting.swept_by(algorithms_of(form)))
        raise mistake(
            f"{name} runs along a swept column, and '{column}' is not swept.",
            did_you_mean(column, known),
        )


def simple(node: ast.Call, name: str, setting: Setting) -> Threshold | Proportion | Mean:
    """``threshold``, ``proportion`` or ``mean`` with its arguments checked."""
    given = _bound(node, name)
    algorithm = named_algorithm(given.pop("algorithm"), name, setting)
    metric = _metric(given.get("metric"), name, algorithm, setting)
    if name == "mean":
        return Mean(algorithm, metric)
    if name == "proportion":
        return Proportion(algorithm, metric)
    of = _word(given["of"], "'of'") if "of" in given else "theta"
    if of not in setting.swept:
        raise mistake(
            f"'{of}' is not swept by the data, so that nothing crosses a level along it.",
            "Write threshold(ALGORITHM, of=COLUMN). " + did_you_mean(of, setting.swept),
        )
    return Threshold(algorithm, metric, of, _level(given.get("level")))


def named_algorithm(node: ast.expr, name: str, setting: Setting) -> str:
    """The label of an algorithm."""
    algorithm = _word(node, f"the algorithm of {name}")
    if algorithm not in setting.algorithms:
        raise mistake(
            f"there is no algorithm '{algorithm}' in the experiment.",
            did_you_mean(algorithm, setting.algorithms),
        )
    return algorithm


def named_metric(node: ast.expr, name: str, setting: Setting) -> str:
    """A column that the protocol measures."""
    metric = _word(node, f"the metric of {name}")
    if metric not in setting.measured:
        raise mistake(
            f"there is no metric '{metric}' in the experiment whose values are numbers.",
            did_you_mean(metric, setting.measured),
        )
    return metric


def measurement(node: ast.Call, name: str, setting: Setting) -> Measurement:
    """``metric(ALGORITHM)``, the value of a column in the row of one algorithm."""
    if name not in setting.measured:
        raise mistake(f"'{name}' is not measured and takes no algorithm.", f"Write {name}.")
    (label,) = positional(node, name, ("ALGORITHM",))
    return Measurement(name, named_algorithm(label, name, setting))


def check_common(test: Always, setting: Setting) -> None:
    """Refuse columns beside those of algorithms that have no one value for all of these.

    Raises
    ------
    ConfigError
        Without a place.
    """
    if not test.algorithms:
        return
    for name in sorted(test.columns):
        if name in setting.measured:
            raise mistake(
                f"'{name}' stands without an algorithm beside columns that have one.",
                f"Write {name}(ALGORITHM).",
            )
        swept = name in setting.swept_by(setting.algorithms)
        if swept and not all(name in setting.swept_by([label]) for label in test.algorithms):
            raise mistake(f"'{name}' is not swept by every algorithm that the test names.")


def ratio(node: ast.Call, setting: Setting) -> Ratio:
    """``ratio(mean(a, m), mean(b, n))``."""
    parts = []
    for argument in positional(node, "ratio", ("mean(a, metric)", "mean(b, metric)")):
        called = isinstance(argument, ast.Call) and isinstance(argument.func, ast.Name)
        if not called or argument.func.id != "mean":
            raise mistake(
                "ratio takes two means.",
                "For others write a / b < c as a < c * b.",
            )
        parts.append(simple(argument, "mean", setting))
    return Ratio(*parts)


def _bound(node: ast.Call, name: str) -> dict[str, ast.expr]:
    """Argument name -> node."""
    order = ("algorithm", *OPTIONS[name])
    usage = f"{name}(ALGORITHM, METRIC)" if name == "mean" else f"{name}(ALGORITHM[, METRIC])"
    most = 2
    if not 1 <= len(node.args) <= most or any(isinstance(a, ast.Starred) for a in node.args):
        raise mistake(f"{name} is written {usage}.")
    given = dict(zip(order, node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg not in OPTIONS[name]:
            raise mistake(
                f"{name} has no argument '{keyword.arg}'.",
                did_you_mean(str(keyword.arg), OPTIONS[name]),
            )
        if keyword.arg in given:
            raise mistake(f"{name} is given '{keyword.arg}' twice.")
        given[keyword.arg] = keyword.value
    return given


def _word(node: ast.expr, what: str) -> str:
    """A name, with or without quotes."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise mistake(
        f"{what} must be a name, but is '{written(node)}'.",
        "Put a label that is not a plain word in quotes.",
    )


def _metric(node: ast.expr | None, name: str, algorithm: str, setting: Setting) -> str:
    if node is None:
        default = setting.algorithms[algorithm].success
        if name == "mean":
            raise mistake(f"mean needs a metric: mean({algorithm}, METRIC).")
        if default is None:
            raise mistake(f"no metric of the experiment is a success (0 or 1), as {name} needs.")
        return default
    metric = named_metric(node, name, setting)
    if name != "mean" and metric not in setting.binary:
        raise mistake(
            f"{name} needs a metric that is 0 or 1, but '{metric}' is not.",
            f"0 or 1: {', '.join(setting.binary)}." if setting.binary else "Use mean(...).",
        )
    return metric


def _level(node: ast.expr | None) -> float:
    if node is None:
        return 0.5
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
        raise mistake(f"level must be a number between 0 and 1, but is '{written(node)}'.")
    return float(value)
