"""Which quantities can stand together, and which columns have one value where they stand."""

from __future__ import annotations

from greedyexp.claims.quantities import Form, Peak, Ratio, Threshold, Trend, algorithms_of
from greedyexp.claims.setting import Setting
from greedyexp.core.errors import ConfigError


def check_kinds(form: Form) -> None:
    """Refuse sums of things that have no common unit or no common group.

    Raises
    ------
    ConfigError
        Without a place.
    """
    quantities = list(form.quantities())
    kinds = sorted({quantity.kind for quantity in quantities})
    if len(kinds) > 1:
        raise ConfigError(f"a {kinds[0]} cannot be compared with a {kinds[1]}.")
    trends = form.trends()
    if trends and len(trends) < len(form.terms):
        raise ConfigError(f"{trends[0].name}(...) can be compared with numbers or another trend.")
    if len({trend.columns for trend in trends}) > 1:
        raise ConfigError("trends along different columns cannot be compared.")
    if len({q.of for q in quantities if isinstance(q, Threshold)}) > 1:
        raise ConfigError("thresholds of different columns cannot be compared.")
    if len({q.along for q in quantities if isinstance(q, Peak)}) > 1:
        raise ConfigError("peaks along different expressions cannot be compared.")
    ratios = [quantity for quantity in quantities if isinstance(quantity, Ratio)]
    if len(ratios) > 1:
        raise ConfigError(
            "a ratio is compared with a number or a column, not with another ratio.",
        )


def used_up(form: Form, along: tuple[str, ...], setting: Setting) -> tuple[str, ...]:
    """Columns that a test runs over, so that it has no single value of them.

    Parameters
    ----------
    form : Form
    along : tuple of str
        Columns that the test itself runs over, as ``increasing`` does.

    Returns
    -------
    tuple of str
        Those of thresholds, peaks, trends and of ``along``, with all that are zipped with them.
    """
    columns = list(along)
    for quantity, _ in form.terms:
        columns += quantity.columns if isinstance(quantity, Trend) else ()
    for quantity in form.quantities():
        columns += [quantity.of] if isinstance(quantity, Threshold) else ()
        columns += quantity.columns if isinstance(quantity, Peak) else ()
    labels = algorithms_of(form)
    return tuple(dict.fromkeys(n for c in columns for n in setting.mates(c, labels)))


def check_columns(
    form: Form, more: frozenset[str], along: tuple[str, ...], setting: Setting
) -> None:
    """Refuse numbers that depend on a column which takes many values in a group.

    Parameters
    ----------
    more : frozenset of str
        Columns named beside the coefficients of the form.
    along : tuple of str
        As in ``used_up``; coefficients may depend on these.

    Raises
    ------
    ConfigError
        Without a place.
    """
    labels = algorithms_of(form)
    for name in sorted(form.columns() | more):
        if name in used_up(form, (), setting):
            raise ConfigError(
                f"'{name}' takes many values in what the test compares, so it is not a number"
                " there."
            )
        own = name in setting.swept_by(setting.algorithms)
        if own and name not in setting.swept_by(labels):
            raise ConfigError(f"'{name}' is swept by an algorithm that the test does not name.")
    both = set(along) & set(used_up(form, (), setting))
    if both:
        raise ConfigError(f"'{min(both)}' is used up by what runs over it already.")
