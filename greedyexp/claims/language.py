"""From the text of a test to what it means; every mistake is one sentence.

The text is parsed as a Python expression and read through a list of allowed constructs; nothing
of it is executed.
"""

from __future__ import annotations

import ast
import math

from greedyexp.claims import arguments
from greedyexp.claims.arguments import mistake, shortened, written
from greedyexp.claims.expressions import (
    FUNCTIONS,
    OPERATORS,
    Column,
    Expression,
    Function,
    Number,
    columns_of,
    combined,
    evaluate,
)
from greedyexp.claims.fitting import check_columns, check_kinds
from greedyexp.claims.quantities import (
    NEGATIVE,
    Always,
    Comparison,
    Form,
    Mean,
    Monotone,
    Peak,
    Test,
    Trend,
)
from greedyexp.claims.setting import Setting
from greedyexp.core.errors import did_you_mean

RELATIONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "=="}
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}
SYMBOLS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}
QUANTITIES = ("threshold", "proportion", "mean", "ratio", "peak", "slope", "limit")
TESTS = {"increasing": ">", "decreasing": "<", "always": ""}
WORDS = (*QUANTITIES, *TESTS, *FUNCTIONS)


def parse(text: str, setting: Setting) -> Test:
    """What a test says.

    Parameters
    ----------
    text : str
        Such as ``threshold(greedy_dirty) < 1 - kappa / 2``.
    setting : Setting
        The names it may use.

    Raises
    ------
    ConfigError
        Without a place: the caller knows where the text was written.
    """
    text = " ".join(text.split())
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # Inside [...] YAML ends an unquoted text at a comma.
        cut = text.count("(") != text.count(")")
        remedy = "Put a test with a comma in quotes." if cut else ""
        raise mistake(
            f"the test '{shortened(text)}' cannot be read.",
            remedy or "Write a comparison, such as threshold(a) < threshold(b).",
        ) from None
    try:
        return _Reader(text, setting).test(tree)
    except RecursionError:
        raise mistake("the test is nested too deeply.") from None


class _Reader:
    """Reads one test."""

    def __init__(self, text: str, setting: Setting):
        self.text = text
        self.setting = setting

    def test(self, node: ast.expr) -> Test:
        if isinstance(node, ast.Compare):
            return self.comparison(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = node.func.id
            if name == "always":
                return self.always(node)
            if name in TESTS:
                return self.monotone(node, TESTS[name])
            if name not in QUANTITIES and name not in FUNCTIONS:
                raise mistake(
                    f"there is no function '{name}' in claims.", did_you_mean(name, WORDS)
                )
        raise mistake(
            f"'{shortened(self.text)}' is no test: it compares nothing.",
            "Use <, <=, >, >= or ==, or increasing(...), decreasing(...), always(...).",
        )

    def comparison(self, node: ast.Compare) -> Comparison:
        left, relation, right = self.sides(node)
        one, two = self.form(left), self.form(right)
        if not one.terms:
            one, two, relation = two, one, MIRRORED[relation]
        if not one.terms:
            raise mistake(
                f"'{shortened(self.text)}' compares no threshold, proportion or mean.",
                "A relation between columns of every row is always(...).",
            )
        whole = one.plus(two, "-")
        if not whole.terms:
            raise mistake(f"'{shortened(self.text)}' has the same quantities on both sides.")
        form = Form(whole.terms)
        boundary = Form(constant=whole.constant).times(NEGATIVE).constant
        check_kinds(form)
        check_columns(form, columns_of(boundary), (), self.setting)
        return Comparison(self.text, form, relation, boundary)

    def sides(self, node: ast.Compare) -> tuple[ast.expr, str, ast.expr]:
        if len(node.ops) > 1:
            raise mistake("a test has one comparison.", "Write a list of two tests.")
        relation = RELATIONS.get(type(node.ops[0]))
        if relation is None:
            raise mistake("a test compares with <, <=, >, >= or ==.")
        return node.left, relation, node.comparators[0]

    def monotone(self, node: ast.Call, relation: str) -> Monotone:
        name = node.func.id
        quantity, column = arguments.positional(node, name, ("quantity", "column"))
        form = self.quantity_form(quantity, name)
        if not isinstance(column, ast.Name):
            raise mistake(f"{name} takes the name of a swept column as its second argument.")
        arguments.check_swept(column.id, form, name, self.setting)
        check_kinds(form)
        check_columns(form, frozenset(), (column.id,), self.setting)
        return Monotone(self.text, form, relation, column.id)

    def always(self, node: ast.Call) -> Always:
        (inner,) = arguments.positional(node, "always", ("comparison",))
        if not isinstance(inner, ast.Compare):
            raise mistake("always takes a comparison of columns, such as always(error <= 1).")
        left, relation, right = self.sides(inner)
        if relation == "==":
            raise mistake(
                "always takes <, <=, > or >=.", "Write always(abs(a - b) <= 0) or a tolerance."
            )
        known = (*self.setting.known, *self.setting.measured)
        sides = [self.expression(side, known) for side in (left, right)]
        test = Always(self.text, sides[0], relation, sides[1])
        if not (test.columns or test.measurements):
            raise mistake("always compares columns, but here is none.", did_you_mean("", known))
        arguments.check_common(test, self.setting)
        return test

    def quantity_form(self, node: ast.expr, caller: str) -> Form:
        form = self.form(node)
        if not form.terms:
            raise mistake(
                f"{caller} needs a quantity, but '{written(node)}' is a number.",
                "Quantities are threshold(...), proportion(...) and mean(...).",
            )
        return form

    def form(self, node: ast.expr) -> Form:
        """The linear form that a side of a comparison is."""
        form = self.sum(node)
        finite(form.constant, node)
        return form

    def sum(self, node: ast.expr) -> Form:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            form = self.form(node.operand)
            return form.times(NEGATIVE) if isinstance(node.op, ast.USub) else form
        if isinstance(node, ast.BinOp):
            return self.operation(node)
        if isinstance(node, ast.Call):
            name = arguments.function_name(node, (*WORDS, *self.setting.measured))
            if name in self.setting.measured:
                raise mistake(
                    f"'{written(node)}' differs between replicates.",
                    f"Write mean(ALGORITHM, {name}), or the comparison inside always(...).",
                )
            if name in TESTS:
                raise mistake(f"{name}(...) is a test of its own and has no value to compare.")
            if name in QUANTITIES:
                quantity = self.quantity(node, name)
                return Form(((quantity, Number(1.0)),))
        return Form(constant=self.expression(node, self.setting.known))

    def operation(self, node: ast.BinOp) -> Form:
        symbol = self.symbol(node)
        left, right = self.form(node.left), self.form(node.right)
        if symbol in "+-":
            return left.plus(right, symbol)
        if symbol == "*" and not left.terms:
            left, right = right, left
        if right.terms or (symbol == "**" and left.terms):
            raise mistake(
                f"'{written(node)}' is not linear in its quantities.",
                "Write a / b < c as a < c * b, or use ratio(mean(...), mean(...)).",
            )
        if symbol == "**":
            return Form(constant=combined("**", left.constant, right.constant))
        return left.times(right.constant, symbol)

    def symbol(self, node: ast.BinOp) -> str:
        symbol = SYMBOLS.get(type(node.op))
        if symbol is None:
            raise mistake(f"'{written(node)}' uses an operator other than + - * / **.")
        return symbol

    def quantity(self, node: ast.Call, name: str):
        if name in ("slope", "limit"):
            return self.trend(node, name)
        if name == "ratio":
            return arguments.ratio(node, self.setting)
        if name == "peak":
            return self.peak(node)
        return arguments.simple(node, name, self.setting)

    def trend(self, node: ast.Call, name: str) -> Trend:
        inner, along = arguments.positional(node, name, ("quantity", "expression"))
        form = self.quantity_form(inner, name)
        if form.trends():
            raise mistake(f"{name} cannot hold another slope or limit.")
        expression, swept = self.along(along, form, name)
        check_columns(form, columns_of(expression), (), self.setting)
        return Trend(name, form, expression, swept)

    def peak(self, node: ast.Call) -> Peak:
        wanted = ("ALGORITHM", "METRIC", "expression")
        label, metric, along = arguments.positional(node, "peak", wanted)
        algorithm = arguments.named_algorithm(label, "peak", self.setting)
        metric = arguments.named_metric(metric, "peak", self.setting)
        form = Form(((Mean(algorithm, metric), Number(1.0)),))
        return Peak(algorithm, metric, *self.along(along, form, "peak"))

    def along(self, node: ast.expr, form: Form, name: str) -> tuple[Expression, tuple[str, ...]]:
        """An expression for a form to run along, and the swept columns in it."""
        expression = self.expression(node, self.setting.known)
        swept = sorted(
            column
            for column in columns_of(expression)
            if arguments.is_swept(column, form, self.setting)
        )
        if not swept:
            raise mistake(
                f"'{written(node)}' names no swept column, as {name} needs.",
                f"Swept: {', '.join(self.setting.swept)}." if self.setting.swept else "",
            )
        return expression, tuple(swept)

    def expression(self, node: ast.expr, known: tuple[str, ...]) -> Expression:
        """Arithmetic on numbers and columns."""
        return finite(self.arithmetic(node, known), node)

    def arithmetic(self, node: ast.expr, known: tuple[str, ...]) -> Expression:
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return Number(float(value) if abs(value) < 1e300 else math.inf)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return combined("*", NEGATIVE, self.expression(operand, known))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.expression(operand, known)
            case ast.BinOp() if self.symbol(node) in OPERATORS:
                left, right = (self.expression(side, known) for side in (node.left, node.right))
                return combined(self.symbol(node), left, right)
            case ast.Call():
                return self.call(node, known)
            case ast.Name(id=name):
                return Column(arguments.known_column(name, known, self.setting))
        raise mistake(f"'{written(node)}' has no meaning in a claim.")

    def call(self, node: ast.Call, known: tuple[str, ...]) -> Expression:
        """A function of an expression, or a column named with an algorithm."""
        name = arguments.function_name(node, (*WORDS, *known))
        if name in FUNCTIONS:
            (argument,) = arguments.positional(node, name, ("expression",))
            applied = Function(name, self.expression(argument, known))
            if isinstance(applied.argument, Number):
                return Number(float(evaluate(applied, {})))
            return applied
        if name in known:
            return arguments.measurement(node, name, self.setting)
        raise mistake(f"{name}(...) cannot stand here: only columns and numbers can.")


def finite(expression: Expression, node: ast.expr) -> Expression:
    """The expression, unless it is a number beyond all others."""
    if isinstance(expression, Number) and not math.isfinite(expression.value):
        raise mistake(f"'{written(node)}' is not a finite number.")
    return expression
