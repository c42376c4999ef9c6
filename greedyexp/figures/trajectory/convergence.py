"""The gap to the optimum over iterations, with proved bounds and asymptotic predictions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot

# The square of the guarantee over the first gap: the guarantee with twice the exponent.
_TWICE = "twice"
# Dashes and legend of the curves other than the measured gap.
_CURVES: dict[str, tuple[Any, str]] = {
    "guarantee": ((0, (5, 2)), "proved bound"),
    _TWICE: ((0, (5, 1.5, 1, 1.5, 1, 1.5)), "exponent 2k, not a bound"),
    "prediction": ((0, (1, 1.5)), "asymptotic prediction, not a bound"),
    "local_guarantee": ((0, (6, 1.5, 1, 1.5)), "proved bound on the final support"),
}

# Their names in the note.
_NAMES = {
    "guarantee": "bounds",
    _TWICE: "curves with exponent 2k",
    "prediction": "predictions",
    "local_guarantee": "bounds",
}


@figure(
    "convergence",
    title="Convergence",
    by_algorithm="twice",
    **plot.declared("record", "iteration", "gap"),
)
def convergence(
    frame: plot.Frame,
    context: plot.Context,
    *,
    line: plot.Line = ["algorithm"],  # noqa: B006 - a default that pydantic copies
    panel: plot.Panel = None,
    row: plot.Row = None,
    scale: plot.IterationScale = "linear",
    until: Annotated[int | None, Field(gt=0, description="last iteration shown")] = None,
    guarantee: Annotated[bool, Field(description="draw proved bounds in the table")] = True,
    prediction: Annotated[bool, Field(description="draw predictions in the table")] = True,
    local: Annotated[bool, Field(description="draw bounds on the final support")] = True,
    twice: Annotated[
        list[str], Field(description="algorithms whose bound is also drawn with exponent 2k")
    ] = [],  # noqa: B006
    floor: Annotated[
        float, Field(gt=0, description="gap below which only rounding is visible")
    ] = 1e-15,
) -> plot.Figure:
    """The objective above its minimum against the iteration, one line per algorithm or other key.

    Lines are medians over replicates with bands, as far as all replicates go. Dashed curves are
    proved bounds; dash-dotted ones are bounds on the final support, from the iteration at which all
    iterates have it; dotted ones are asymptotic predictions, which are not bounds. All are medians
    too and have a few small markers of their line. A bound is infinite where a replicate does not
    have it yet, and the axis is not extended far for bounds. ``twice`` adds the curve of an
    algorithm's bound with twice its exponent, guarantee^2 / gap_0, which some plots show. It is not
    a bound for coordinate descent: with two orthonormal columns of equal weight, the first step
    from zero violates it. A line ends before its gap first reaches ``floor``. Replicates that
    failed are left out and counted below.
    """
    frame, keys = plot.group_columns(frame, context, row, panel, *line)
    rows = trajectories(frame, keys, until=until)
    wanted = {"guarantee": guarantee, "prediction": prediction, "local_guarantee": local}
    curves = {kind: curve(rows, keys, kind) for kind, draw in wanted.items() if draw}
    labels = rows["algorithm"].unique()
    wanted_twice = [
        label for label in labels if {label, context.algorithms.get(label, label)} & set(twice)
    ]
    doubled = rows[rows["algorithm"].isin(wanted_twice)]
    curves[_TWICE] = curve(doubled, keys, _TWICE)
    curves = {kind: curves[kind] for kind in _CURVES if len(curves.get(kind, ()))}
    measured = curve(rows, keys, "gap")
    styles = plot.LineStyles(rows, line, context, dashed=False)
    limits, last = _limits(measured, curves, floor), measured["iteration"].max()
    # After the first gap at the floor, only rounding errors are visible.
    ended = measured["estimate"].le(floor).groupby([measured[name] for name in keys]).cummax()
    points = (measured[~ended], "iteration", [*keys, "iteration"], styles, "median gap", plot.BAND)
    theory = []
    for key in styles.keys(rows):
        for kind, table in curves.items():
            known = plot.inside(table, dict(zip(line, key, strict=True)))
            known = known.assign(estimate=known["estimate"].where(known["estimate"] > 0))
            dash, name = _CURVES[kind]
            # Names in notes do not say what a curve is not.
            name = name.partition(",")[0]
            theory.append(plot.Theory(known, "iteration", styles, dash, name, kind))
    clipped = ["low", "estimate", "high"]
    layers: list[plot.Layer] = [
        plot.Curves(
            *points,
            shown=lambda own: own.assign(**own[clipped].clip(lower=floor)),
            every=0.16,
            look={"gid": "gap"},
            ordered=True,
        ),
        *theory,
        lambda axis, _: plot.iteration_axis(axis, last, scale),
        plot.log_heights(*limits),
    ]
    handles = [plot.bound_handle(_CURVES[kind][1], _CURVES[kind][0]) for kind in curves]
    end_text = (
        f"Lines end where the gap falls to {plot.number_text(floor)}; bands are cut off there."
    )
    note = [
        *plot.run_notes(frame, context, plot.medians_text(measured, context)),
        _medians_text(curves),
        end_text if measured["low"].le(floor).any() else "",
    ]
    panels = plot.Panels.by_columns(rows, context, row, panel)
    texts = plot.axis_label("iteration"), plot.axis_label("gap")
    legends = [*styles.legends(), handles]
    return plot.chart(panels, context, layers, texts, legends, note)


def _medians_text(curves: Collection[str]) -> str:
    """State that the curves beside the gap are medians; empty if there are none."""
    if not curves:
        return ""
    *others, last = dict.fromkeys(_NAMES[kind] for kind in curves)
    names = f"{', '.join(others)} and {last}" if others else last
    return f"{names.capitalize()} are medians too."


def trajectories(frame: plot.Frame, keys: Sequence[str], *, until: int | None = None) -> plot.Frame:
    """Return the rows about iterations, with the guarantee of twice the exponent.

    Parameters
    ----------
    frame : DataFrame
        Table of protocol ``trajectory``.
    keys : sequence of str
        Columns that separate lines and panels.
    until : int, optional
        Last iteration.

    Raises
    ------
    ConfigError
        If a column is missing or has wrong values.
    """
    rows = plot.records(frame, "iteration", keys, finite=["iteration", "gap"])
    plot.require_numeric(rows, *(name for name in _CURVES if name in rows.columns))
    if "guarantee" in rows.columns:
        rows = rows.assign(
            **{_TWICE: rows["guarantee"] ** 2 / _first_gap(rows, plot.identity(frame))}
        )
    return rows if until is None else rows[rows["iteration"] <= until]


def _first_gap(rows: plot.Frame, same: Sequence[str]) -> plot.Series:
    """Return the gap at iteration 0 of each row's replicate; nan if it is 0 or not recorded."""
    start = rows["gap"].where((rows["iteration"] == 0) & (rows["gap"] > 0))
    return start.groupby([rows[name] for name in same], dropna=False).transform("max")


def curve(rows: plot.Frame, keys: Sequence[str], value: str) -> plot.Frame:
    """Compute median and band of a column at each iteration that all replicates of a line have.

    Replicates end at different iterations: a median over the remaining ones would jump. A missing
    bound counts as infinite: the median of the bounds is then a bound on the median. The curve has
    no point where it is not finite.

    Returns
    -------
    DataFrame
        The points; empty if the table has no such column or no value in it.
    """
    import pandas as pd

    names = [*keys, "iteration"]
    if value not in rows.columns or rows[value].isna().all():
        return pd.DataFrame(columns=[*names, "estimate", "low", "high", "trials"])
    rows = rows.assign(**{value: rows[value].fillna(np.inf)})
    table = plot.medians(rows, names, value, whole=keys)
    return table[np.isfinite(table["estimate"])]


def _limits(
    measured: plot.Frame, curves: Mapping[str, plot.Frame], floor: float
) -> tuple[float, float]:
    """Return vertical limits: all measurements, and bounds up to a factor above them."""
    seen = measured[["estimate", "high"]].clip(lower=floor)
    low, high = float(seen["estimate"].min()), float(seen.to_numpy().max())
    ends = [high]
    for table in curves.values():
        final = table.loc[table["iteration"] == table["iteration"].max(), "estimate"]
        ends += [end for end in final if np.isfinite(end)]
    top = min(max(ends), plot.MAX_ABOVE * high)
    margin = (top / low) ** 0.04 if top > low else 2.0
    return low / margin, top * margin
