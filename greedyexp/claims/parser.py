"""The parser of claims: translates the text of a test to the classes of ``language``.

The text is parsed as a Python expression and is never executed. Only a list of constructs is
allowed. Errors are a single sentence without a place, which the caller adds.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable
from typing import TypeAlias, cast, get_args

from greedyexp.claims.conditions import check_always, check_boundary, check_columns, check_kinds
from greedyexp.claims.language import (
    FUNCTIONS,
    NEGATIVE,
    ONE,
    Always,
    Column,
    Comparison,
    Expression,
    Form,
    Mean,
    Monotone,
    Number,
    Peak,
    Proportion,
    Quantity,
    Ratio,
    Test,
    Threshold,
    Trend,
    applied,
    columns_of,
    combined,
)
from greedyexp.claims.setting import Setting
from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.stats.direction import Direction

_RELATIONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "=="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}
_SYMBOLS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}
_QUANTITIES = ("threshold", "proportion", "mean", "ratio", "peak", "slope", "limit", "average")
TESTS = {"increasing": ">", "decreasing": "<", "always": "", "usually": ""}
WORDS = (*_QUANTITIES, *TESTS, *FUNCTIONS)
# Optional arguments of ``threshold``, ``proportion`` and ``mean``, in their order.
OPTIONS = {
    "threshold": ("metric", "of", "level", "direction"),
    "proportion": ("metric",),
    "mean": ("metric",),
}


# The columns that an expression may use; None where quantities are allowed too.
Columns: TypeAlias = "tuple[str, ...] | None"


def parse(text: str, setting: Setting) -> Test:
    """Parse the text of a test.

    Parameters
    ----------
    text : str
        Text of a test, such as ``threshold(greedy_dirty) < 1 - kappa / 2``.
    setting : Setting
        The names that the test may use.

    Raises
    ------
    ConfigError
        If the text is not a valid test. The caller adds the place.
    """
    text = " ".join(text.split())
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # Inside [...] YAML ends an unquoted text at a comma.
        cut = text.count("(") != text.count(")")
        raise _error(
            f"the test '{_shortened(text)}' cannot be read.",
            "Put a test with a comma in quotes."
            if cut
            else "Write a comparison, such as threshold(a) < threshold(b).",
        ) from None
    try:
        return _Parser(text, setting).test(tree)
    except RecursionError:
        raise _error("the test is nested too deeply.") from None


def _error(message: str, remedy: str = "") -> ConfigError:
    return ConfigError(message, remedy=remedy or None)


def _shortened(text: str) -> str:
    """Return a part of a test, cut to fit in a message."""
    return text if len(text) <= 60 else f"{text[:56]} ..."


def _source(node: ast.expr) -> str:
    """Return the text of a node."""
    return _shortened(ast.unparse(node))


def _known(name: str, known: Iterable[str], kind: str, where: str = "") -> str:
    """Return a name, or raise an error with the nearest known name."""
    if name not in known:
        raise _error(f"there is no {kind} '{name}'{where}.", did_you_mean(name, known))
    return name


def _function_name(node: ast.Call, known: Iterable[str]) -> str:
    if not isinstance(node.func, ast.Name):
        raise _not_allowed(node)
    return _known(node.func.id, known, "function", " in claims")


def _not_allowed(node: ast.expr) -> ConfigError:
    return _error(f"'{_source(node)}' is not allowed in a claim.")


def _positional(node: ast.Call, name: str, wanted: tuple[str, ...]) -> list[ast.expr]:
    """Return the arguments of a function that takes all of them by position."""
    starred = any(isinstance(argument, ast.Starred) for argument in node.args)
    if node.keywords or starred or len(node.args) != len(wanted):
        raise _error(f"{name} must be written {name}({', '.join(wanted)}).")
    return node.args


def _named_arguments(node: ast.Call, name: str) -> dict[str, ast.expr]:
    """Return the arguments of ``threshold``, ``proportion`` or ``mean`` by name."""
    if not 1 <= len(node.args) <= 2 or any(isinstance(a, ast.Starred) for a in node.args):
        metric = ", METRIC" if name == "mean" else "[, METRIC]"
        raise _error(f"{name} must be written {name}(ALGORITHM{metric}).")
    given = dict(zip(("algorithm", "metric"), node.args, strict=False))
    for keyword in node.keywords:
        argument = _known(str(keyword.arg), OPTIONS[name], "argument", f" of {name}")
        if argument in given:
            raise _error(f"duplicate argument '{argument}' of {name}.")
        given[argument] = keyword.value
    return given


def _word(node: ast.expr, role: str) -> str:
    """Return a name, with or without quotes."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise _error(
        f"{role} must be a name, but is '{_source(node)}'.",
        "Put a label that is not a plain word in quotes.",
    )


def _level(node: ast.expr) -> float:
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
        raise _error(f"level must be a number between 0 and 1, but is '{_source(node)}'.")
    return float(value)


def _direction(node: ast.expr) -> Direction:
    word = _word(node, "the direction of success")
    if word not in get_args(Direction):
        raise _error(f"direction must be rising or falling, but is '{word}'.")
    return cast(Direction, word)


def _sides(node: ast.Compare) -> tuple[ast.expr, str, ast.expr]:
    if len(node.ops) > 1:
        raise _error("a test must have exactly one comparison.", "Write a list of two tests.")
    relation = _RELATIONS.get(type(node.ops[0]))
    if relation is None:
        raise _error("a test must compare with <, <=, >, >= or ==.")
    return node.left, relation, node.comparators[0]


class _Parser:
    """Parser of one test. Its methods translate nodes of the syntax tree.

    Parameters
    ----------
    text : str
        The whole test.
    setting : Setting
    """

    def __init__(self, text: str, setting: Setting):
        self.text = text
        self.setting = setting

    def test(self, node: ast.expr) -> Test:
        if isinstance(node, ast.Compare):
            return self.comparison(node)
        if isinstance(node, ast.Call):
            name = _function_name(node, WORDS)
            if name in ("always", "usually"):
                return self.always(node, name)
            if name in TESTS:
                return self.monotone(node, name)
        raise _error(
            f"'{_shortened(self.text)}' is not a test: it has no comparison.",
            "Use <, <=, >, >= or ==, or increasing(...), decreasing(...), always(...) or"
            " usually(...).",
        )

    def comparison(self, node: ast.Compare) -> Comparison:
        left, relation, right = _sides(node)
        one, two = self.form(left), self.form(right)
        if not one.terms:
            one, two, relation = two, one, _MIRRORED[relation]
        if not one.terms:
            raise _error(
                f"'{_shortened(self.text)}' does not compare a threshold, proportion or mean.",
                "For a relation between columns in every row, write always(...).",
            )
        whole = one.plus(two, "-")
        if not whole.terms:
            raise _error(f"'{_shortened(self.text)}' has the same quantities on both sides.")
        form = Form(whole.terms)
        boundary = combined("*", whole.constant, NEGATIVE)
        check_kinds(form)
        check_columns(form, columns_of(boundary), (), self.setting)
        test = Comparison(self.text, form, relation, boundary)
        check_boundary(test)
        return test

    def monotone(self, node: ast.Call, name: str) -> Monotone:
        quantity, column = _positional(node, name, ("quantity", "column"))
        form = self.quantity_form(quantity, name)
        if not isinstance(column, ast.Name):
            raise _error(f"the second argument of {name} must be the name of a swept column.")
        if not self.setting.zipped_with(column.id, form.algorithms):
            known = (*self.setting.shared, *self.setting.swept_by(form.algorithms))
            raise _error(
                f"{name} needs a swept column, and '{column.id}' is not swept.",
                did_you_mean(column.id, known),
            )
        check_kinds(form)
        check_columns(form, frozenset(), (column.id,), self.setting)
        return Monotone(self.text, form, TESTS[name], column.id)

    def always(self, node: ast.Call, name: str) -> Always:
        (inner,) = _positional(node, name, ("comparison",))
        if not isinstance(inner, ast.Compare):
            raise _error(f"{name} needs a comparison of columns, such as {name}(error <= 1).")
        left, relation, right = _sides(inner)
        if relation == "==":
            raise _error(
                f"{name} needs one of <, <=, > and >=.",
                f"Write {name}(abs(a - b) <= 0) or a tolerance.",
            )
        known = (*self.setting.known, *self.setting.measured)
        first, second = self.expression(left, known), self.expression(right, known)
        test = Always(self.text, first, relation, second, name == "usually")
        if not test.leaves:
            raise _error(f"the comparison in {name} has no column.", did_you_mean("", known))
        check_always(test, self.setting)
        return test

    def quantity_form(self, node: ast.expr, caller: str) -> Form:
        form = self.form(node)
        if not form.terms:
            raise _error(
                f"{caller} needs a quantity, but '{_source(node)}' is a number.",
                "Quantities are threshold(...), proportion(...) and mean(...), for example.",
            )
        return form

    def form(self, node: ast.expr, known: Columns = None) -> Form:
        """Translate one side of a comparison, which must be linear in its quantities.

        Parameters
        ----------
        known : tuple of str, optional
            The columns that are allowed, without any quantities. By default, quantities are
            allowed, and so are all columns whose values are known before the run.
        """
        form = self.arithmetic(node, known)
        if isinstance(form.constant, Number) and not math.isfinite(form.constant.value):
            raise _error(f"'{_source(node)}' is not a finite number.")
        return form

    def expression(self, node: ast.expr, known: tuple[str, ...]) -> Expression:
        """Translate arithmetic on numbers and columns."""
        return self.form(node, known).constant

    def arithmetic(self, node: ast.expr, known: Columns) -> Form:
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return Form(constant=Number(float(value) if abs(value) < 1e300 else math.inf))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.form(operand, known).times(NEGATIVE)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.form(operand, known)
            case ast.BinOp():
                return self.operation(node, known)
            case ast.Call():
                return self.quantity_call(node) if known is None else self.call(node, known)
            case ast.Name(id=name):
                known = self.setting.known if known is None else known
                return Form(constant=self.column(name, known))
        raise _not_allowed(node)

    def operation(self, node: ast.BinOp, known: Columns) -> Form:
        symbol = _SYMBOLS.get(type(node.op))
        if symbol is None:
            raise _error(f"'{_source(node)}' uses an operator other than + - * / **.")
        left, right = self.form(node.left, known), self.form(node.right, known)
        if symbol in "+-":
            return left.plus(right, symbol)
        if symbol == "*" and not left.terms:
            left, right = right, left
        if right.terms or (symbol == "**" and left.terms):
            raise _error(
                f"'{_source(node)}' is not linear in its quantities.",
                "Write a / b < c as a < c * b, or use ratio(mean(...), mean(...)).",
            )
        return left.times(right.constant, symbol)

    def quantity_call(self, node: ast.Call) -> Form:
        name = _function_name(node, (*WORDS, *self.setting.measured))
        if name in self.setting.measured:
            raise _error(
                f"'{_source(node)}' differs between replicates.",
                f"Write mean(ALGORITHM, {name}), or put the comparison inside always(...).",
            )
        if name in TESTS:
            raise _error(f"{name}(...) is a complete test and has no value to compare.")
        if name in _QUANTITIES:
            return Form(((self.quantity(node, name), ONE),))
        return self.call(node, self.setting.known)

    def call(self, node: ast.Call, known: tuple[str, ...]) -> Form:
        """Translate a function of an expression, or a column with an algorithm."""
        name = _function_name(node, (*WORDS, *known))
        if name in FUNCTIONS:
            (argument,) = _positional(node, name, ("expression",))
            return Form(constant=applied(name, self.expression(argument, known)))
        if name not in known:
            raise _error(f"{name}(...) is not allowed here: use columns and numbers only.")
        if name not in self.setting.measured:
            raise _error(f"'{name}' is not measured, so it takes no algorithm.", f"Write {name}.")
        (label,) = _positional(node, name, ("ALGORITHM",))
        return Form(constant=Column(name, self.algorithm(label, name)))

    def quantity(self, node: ast.Call, name: str) -> Quantity | Trend:
        match name:
            case "slope" | "limit" | "average":
                return self.trend(node, name)
            case "ratio":
                return self.ratio(node)
            case "peak":
                return self.peak(node)
            case "mean":
                return self.mean(node)
        given = _named_arguments(node, name)
        algorithm = self.algorithm(given["algorithm"], name)
        metric = self.success_metric(given.get("metric"), name, algorithm)
        if name == "proportion":
            return Proportion(algorithm, metric)
        of = _word(given["of"], "'of'") if "of" in given else "theta"
        if of not in self.setting.swept:
            raise _error(
                f"'{of}' is not swept by the data, so there is no threshold along it.",
                "Write threshold(ALGORITHM, of=COLUMN). " + did_you_mean(of, self.setting.swept),
            )
        level = _level(given["level"]) if "level" in given else 0.5
        direction = _direction(given["direction"]) if "direction" in given else None
        return Threshold(algorithm, metric, of, level, direction)

    def mean(self, node: ast.Call) -> Mean:
        given = _named_arguments(node, "mean")
        algorithm = self.algorithm(given["algorithm"], "mean")
        if "metric" not in given:
            raise _error(f"mean needs a metric: mean({algorithm}, METRIC).")
        return Mean(algorithm, self.metric(given["metric"], "mean"))

    def ratio(self, node: ast.Call) -> Ratio:
        means = []
        for argument in _positional(node, "ratio", ("mean(a, metric)", "mean(b, metric)")):
            match argument:
                case ast.Call(func=ast.Name(id="mean")):
                    means.append(self.mean(argument))
                case _:
                    raise _error("ratio needs two means.", "Write a / b < c as a < c * b.")
        return Ratio(*means)

    def trend(self, node: ast.Call, name: str) -> Trend:
        over = "column" if name == "average" else "expression"
        inner, along = _positional(node, name, ("quantity", over))
        form = self.quantity_form(inner, name)
        if form.trends:
            raise _error(f"{name} cannot contain another slope, limit or average.")
        expression, swept = self.along(along, form, name)
        if name == "average" and not isinstance(expression, Column):
            raise _error(f"average needs a column, not the expression '{_source(along)}'.")
        check_columns(form, columns_of(expression), (), self.setting)
        return Trend(name, form, expression, swept)

    def peak(self, node: ast.Call) -> Peak:
        wanted = ("ALGORITHM", "METRIC", "expression")
        label, column, along = _positional(node, "peak", wanted)
        algorithm, metric = self.algorithm(label, "peak"), self.metric(column, "peak")
        form = Form(((Mean(algorithm, metric), ONE),))
        return Peak(algorithm, metric, *self.along(along, form, "peak"))

    def along(self, node: ast.expr, form: Form, name: str) -> tuple[Expression, tuple[str, ...]]:
        """Return the expression along which a form runs, and the swept columns in it."""
        expression = self.expression(node, self.setting.known)
        labels = form.algorithms
        swept = [c for c in sorted(columns_of(expression)) if self.setting.zipped_with(c, labels)]
        if not swept:
            raise _error(
                f"{name} needs a swept column, but '{_source(node)}' has none.",
                f"Swept: {', '.join(self.setting.swept)}." if self.setting.swept else "",
            )
        return expression, tuple(swept)

    def column(self, name: str, known: tuple[str, ...]) -> Column:
        """Return the column of this name; raise an error if it is not known."""
        if name not in known and name in self.setting.algorithms:
            raise _error(
                f"'{name}' is an algorithm and has no value.",
                f"Write threshold({name}), for example.",
            )
        if name not in known and name in self.setting.measured:
            raise _error(
                f"'{name}' is a metric, which differs between replicates.",
                f"Write mean(ALGORITHM, {name}) or always(...).",
            )
        return Column(_known(name, known, "column"))

    def algorithm(self, node: ast.expr, name: str) -> str:
        """Return the label of an algorithm."""
        algorithm = _word(node, f"the algorithm of {name}")
        return _known(algorithm, self.setting.algorithms, "algorithm", " in the experiment")

    def metric(self, node: ast.expr, name: str) -> str:
        """Return the name of a measured column."""
        metric = _word(node, f"the metric of {name}")
        where = " with numeric values in the experiment"
        return _known(metric, self.setting.measured, "metric", where)

    def success_metric(self, node: ast.expr | None, name: str, algorithm: str) -> str:
        """Return the name of a metric with values 0 and 1, by default that of the algorithm."""
        if node is None:
            default = self.setting.algorithms[algorithm].success
            if default is None:
                raise _error(f"{name} needs a metric that is 0 or 1; the experiment has none.")
            return default
        metric, binary = self.metric(node, name), self.setting.binary
        if metric not in binary:
            raise _error(
                f"{name} needs a metric that is 0 or 1, but '{metric}' is not.",
                f"0 or 1: {', '.join(binary)}." if binary else "Use mean(...).",
            )
        return metric
