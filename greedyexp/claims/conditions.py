"""Rules that the tests of claims must satisfy.

Every function raises ``ConfigError`` without the place of the error, which the caller adds.
"""

from __future__ import annotations

from greedyexp.claims.language import (
    Always,
    Comparison,
    Form,
    Number,
    Peak,
    Proportion,
    Ratio,
    Threshold,
    Trend,
    columns_of,
)
from greedyexp.claims.setting import Setting
from greedyexp.core.errors import ConfigError


def check_kinds(form: Form) -> None:
    """Raise ConfigError if the quantities of a form cannot be added."""
    quantities, trends = form.quantities, form.trends
    kinds = sorted({type(quantity).__name__.lower() for quantity in quantities})
    if len(kinds) > 1:
        raise ConfigError(f"a {kinds[0]} cannot be compared with a {kinds[1]}.")
    if trends and len(trends) < len(form.terms):
        name = trends[0].name
        raise ConfigError(f"{name}(...) can only be compared with numbers or another trend.")
    if len({trend.columns for trend in trends}) > 1:
        raise ConfigError("trends along different columns cannot be compared.")
    if len({q.of for q in quantities if isinstance(q, Threshold)}) > 1:
        raise ConfigError("thresholds of different columns cannot be compared.")
    if len({q.direction for q in quantities if isinstance(q, Threshold)}) > 1:
        raise ConfigError(
            "thresholds of different directions cannot be compared.",
            remedy="Give all of them the same direction.",
        )
    if len({q.along for q in quantities if isinstance(q, Peak)}) > 1:
        raise ConfigError("peaks along different expressions cannot be compared.")
    if sum(isinstance(quantity, Ratio) for quantity in quantities) > 1:
        raise ConfigError(
            "a ratio can be compared with a number or a column, not with another ratio."
        )


def check_boundary(test: Comparison) -> None:
    """Raise ConfigError if the comparison of proportions with a number has one outcome only."""
    ends = _range_of(test.form)
    if ends is None or not isinstance(test.boundary, Number) or test.relation == "==":
        return
    (low, high), boundary = ends, test.boundary.value
    outcomes = {
        "<": (boundary > high, boundary <= low),
        "<=": (boundary >= high, boundary < low),
        ">": (boundary < low, boundary >= high),
        ">=": (boundary <= low, boundary > high),
    }
    always, never = outcomes[test.relation]
    if always or never:
        raise ConfigError(
            f"this test {'always' if always else 'never'} holds, since proportions lie between 0"
            " and 1.",
            remedy="Compare with another number.",
        )


def _range_of(form: Form) -> tuple[float, float] | None:
    """Return the smallest and largest value of a form of proportions; None for other forms."""
    low = high = 0.0
    for quantity, coefficient in form.terms:
        match quantity:
            case Proportion():
                inner: tuple[float, float] | None = (0.0, 1.0)
            case Trend(name="average"):
                inner = _range_of(quantity.form)
            case _:
                return None
        if inner is None or not isinstance(coefficient, Number):
            return None
        ends = sorted(coefficient.value * end for end in inner)
        low, high = low + ends[0], high + ends[1]
    if not isinstance(form.constant, Number):
        return None
    return low + form.constant.value, high + form.constant.value


def columns_along(form: Form, along: tuple[str, ...], setting: Setting) -> tuple[str, ...]:
    """Return the columns that vary within a group of a test.

    Parameters
    ----------
    form : Form
    along : tuple of str
        Columns that the test itself varies, such as the one of ``increasing``.

    Returns
    -------
    tuple of str
        Columns of thresholds, peaks, trends and ``along``, and all columns zipped with them.
    """
    labels = form.algorithms
    names = (n for c in (*along, *form.swept) for n in setting.zipped_with(c, labels))
    return tuple(dict.fromkeys(names))


def check_columns(
    form: Form, more: frozenset[str], along: tuple[str, ...], setting: Setting
) -> None:
    """Raise ConfigError if a number depends on a column with several values.

    Parameters
    ----------
    more : frozenset of str
        Columns used in addition to the coefficients of the form.
    along : tuple of str
        As in ``columns_along``. Coefficients may depend on these columns.
    """
    inside = columns_along(form, (), setting)
    own = set(setting.swept_by(setting.algorithms)) - set(setting.swept_by(form.algorithms))
    for name in sorted(form.columns | more):
        if name in inside:
            raise ConfigError(
                f"'{name}' takes several values within the comparison, so it is not a number there."
            )
        if name in own:
            raise ConfigError(f"'{name}' is swept by an algorithm that the test does not name.")
    both = set(along) & set(inside)
    if both:
        raise ConfigError(f"a quantity of the test already runs along '{min(both)}'.")


def check_always(test: Always, setting: Setting) -> None:
    """Raise ConfigError if the algorithms of a test have no common value of a column."""
    if not test.algorithms:
        return
    for name in sorted(columns_of(test.left, test.right)):
        if name in setting.measured:
            raise ConfigError(
                f"'{name}' needs an algorithm, since other columns of the test have one.",
                remedy=f"Write {name}(ALGORITHM).",
            )
        swept = name in setting.swept_by(setting.algorithms)
        if swept and not all(name in setting.swept_by([label]) for label in test.algorithms):
            raise ConfigError(f"'{name}' is not swept by every algorithm that the test names.")
