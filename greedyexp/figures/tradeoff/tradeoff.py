"""Accuracy against sparsity: the risk above that of a reference, with the bounds of theorems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field

from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import figure
from greedyexp.experiment.messages import refusal
from greedyexp.figures import _plot as plot
from greedyexp.results.theorems import (
    WhereTheorem,
    bound_medians,
    names_known,
    random_text,
    refuse_mixed_references,
    refuse_unknown,
    theorem_title,
    title_theorem,
    without_theorem,
)


def _distinct(values: list[str]) -> list[str]:
    for value in values:
        if values.count(value) > 1:
            raise refusal(f"duplicate value {value} in `measured`.", "Keep one.")
    return values


Along = Annotated[
    Literal["features", "step"], Field(description="quantity along the horizontal axis")
]
Quantities = Annotated[
    list[Literal["excess", "gap", "risk"]],
    Field(min_length=1, max_length=2, description="quantities drawn; the first has markers"),
    AfterValidator(_distinct),
]
Theorems = Annotated[
    list[str] | None,
    Field(description="theorems whose bounds are drawn; all by default"),
    names_known("theorems"),
]
Floor = Annotated[
    float, Field(gt=0, description="smallest value that the vertical axis distinguishes from zero")
]

# Columns that describe a step and do not depend on a theorem or a reference.
_OF_STEP = ["features", "risk", "gap"]
_TITLES = {"excess": "excess risk", "gap": "duality gap", "risk": "risk"}
# Dashes of bounds; a second measurement has the last ones.
_BOUNDS = (plot.LINES[1], plot.LINES[3], plot.LINES[4], plot.LINES[2])
_SECOND = _BOUNDS[-1]
# Bands are shown below the least median by at most this factor.
_BELOW = 10.0
# Height of the strip in parts of the axis above it.
_STRIP = 0.05
_SHADE = "0.93"
# Of the band of all numbers of features of the reference.
_RANGE: plot.Style = {"color": "0.96", "linewidth": 0}


def _columns(*, measured: Sequence[str], **params: Any) -> list[str]:
    # Features and risk of a step are in rows without theorem and reference, which ``where`` always
    # keeps.
    columns = ["record", "theorem", "reference", "step", "excess", "excess_bound"]
    columns += [name for name in measured if name != "risk"]
    return plot.reads(*columns, apart=plot.separate_algorithms)(**params)


@figure(
    "tradeoff", title="Accuracy against sparsity", columns=_columns, apart=plot.separate_algorithms
)
def tradeoff(
    frame: plot.Frame,
    context: plot.Context,
    *,
    x: Along = "features",
    measured: Quantities = ["excess"],  # noqa: B006
    panel: plot.Panel = None,
    row: plot.Row = None,
    theorems: Theorems = None,
    floor: Floor = 1e-12,
    where: WhereTheorem = {},  # noqa: B006
) -> plot.Figure:
    """Risk above that of a reference predictor, against the number of features or steps.

    Along ``features``, a line shows the least value among the recorded predictors with at most that
    many nonzero coefficients; along ``step``, the value after that many steps. Lines are medians
    over replicates with bands; a line with a single number of features is a marker. Dashed curves
    are medians of the theorems' bounds on the excess after that many steps, which give at most as
    many features; the bound of Theorem 1 is for the mean over runs. A line in the strip at the
    bottom is at zero or below, for example because the predictor is better than the reference. The
    vertical line is at the median number of features of the reference, in a band from the smallest
    to the largest. Replicates that failed are left out and counted below.
    """
    from matplotlib.patches import Patch

    known = plot.identity(frame)
    # Other records do not have the results chosen by ``where``.
    settings = {name: value for name, value in where.items() if name in known}
    results = {name: value for name, value in where.items() if name not in known}
    frame = plot.rows_where(frame, settings)
    frame, keys = plot.group_columns(frame, context, row, panel, "algorithm", merge=True)
    excess = "excess" in measured
    rows = recorded_steps(plot.rows_where(frame, results), frame, keys, mixed=not excess)
    refuse_unknown("theorems", theorems or [], rows)
    styles = plot.LineStyles(rows, ["algorithm"], context, dashed=False)
    lines = {y: curves(rows, frame, keys, x, y) for y in measured}
    table = bounds(rows, frame, keys, x, theorems if excess else [])
    bound_styles = _bound_styles(table, styles, _BOUNDS[:-1] if len(lines) == 2 else _BOUNDS)
    vertical = _ExcessAxis(list(lines.values()), table["estimate"], floor)
    last = float(max(points["at"].max() for points in lines.values()))
    marked: set[str] = set()
    reference: set[bool] = set()
    along = "number of features" if x == "features" else plot.axis_label("step")
    looks: list[plot.Style] = [
        {"markevery": 0.12},
        {"marker": None, "linestyle": _SECOND, "label": None},
    ]
    drawn = [
        plot.Curves(
            *(points, "at", keys, styles, "median", plot.BAND),
            shown=vertical.shown,
            along=along,
            alpha=0.13,
            look={**look, "gid": "measured"},
        )
        for points, look in zip(lines.values(), looks, strict=False)
    ]

    def measurements(axis: plot.Axes, values: Mapping[str, Any]) -> None:
        for place, points in enumerate(lines.values()):
            for name, own in plot.inside(points, values).groupby("algorithm", sort=True):
                if own["at"].nunique() > 1:
                    drawn[place](axis, {**values, "algorithm": name})
                    continue
                about = own[keys], {along: own["at"]} | plot.facts(own, "median", plot.BAND)
                look = styles.of(str(name))
                _draw_single(axis, vertical.shown(own), look, about, second=place > 0)

    def promised(axis: plot.Axes, values: Mapping[str, Any]) -> None:
        groups: Any = plot.inside(table, values).groupby(["algorithm", "theorem"])
        for (label, theorem), line in groups:
            positive = line["estimate"].where(line["estimate"] > 0)
            look = plot.bound_style(bound_styles[theorem][0]) | {"color": styles.colours[label]}
            if plot.draw_bound(axis, line["at"], positive, look, theorem_title(theorem)):
                marked.add(theorem)
        if x == "features":
            reference.add(_draw_reference(axis, plot.inside(rows, values)))
        plot.iteration_axis(axis, last, "log")

    def handles() -> list[plot.Artist]:
        first, *second = (_TITLES[name] for name in lines)
        found: list[plot.Artist] = [plot.legend_entry(first)] if second else []
        found += [plot.legend_entry(title, linestyle=_SECOND) for title in second]
        found += [
            plot.bound_handle(theorem_title(theorem), dash, colour, marked=theorem in marked)
            for theorem, (dash, colour) in sorted(bound_styles.items())
        ]
        if True in reference:
            found.append(plot.legend_entry("features of the reference", **plot.REFERENCE_LINE))
            found.append(Patch(**_RANGE, label="its range over all runs"))
        return [*found, *vertical.handles(excess)]

    too = " Bounds are medians too." if bound_styles else ""
    names = dict.fromkeys(rows["reference"])
    references = " or ".join(plot.level_text("reference", name) for name in names)
    numbers = f"{plot.medians_text(lines[measured[0]], context)}.{too}"
    origin, failures = plot.run_notes(frame, context, numbers)
    note = [
        origin,
        f"Reference of the excess risk: {references}." if excess else "",
        random_text(bound_styles, "a bound of the mean over runs"),
        failures,
    ]
    return plot.chart(
        plot.Panels.by_columns(rows, context, row, panel),
        context,
        [measurements, promised, vertical],
        (along, " and ".join(_TITLES[name] for name in lines)),
        lambda: [*styles.legends(), handles()],
        note,
        without_theorem(where),
        titled=title_theorem,
    )


def _draw_single(
    axis: plot.Axes, points: plot.Frame, style: plot.Style, about: Any, *, second: bool
) -> None:
    """Draw the marker of a line with a single number of features, with its band as a bar."""
    colour, median = style["color"], points["estimate"]
    shape: plot.Style = {"fmt": style["marker"], "color": colour, "gid": "measured"}
    # Other lines pass through it.
    face, edge = ("white", colour) if second else (colour, "white")
    shape |= {"markersize": 8, "markerfacecolor": face, "markeredgecolor": edge, "zorder": 3}
    bar = [median - points["low"], points["high"] - median]
    plot.attach(axis.errorbar(points["at"], median, yerr=bar, **shape).lines[0], *about)


def _bound_styles(
    table: plot.Frame, styles: plot.LineStyles, dashes: Sequence[Any]
) -> dict[str, tuple[Any, str]]:
    """Return dashes and legend colour of each theorem."""
    found = {}
    for theorem, dash in plot.cycle(sorted(table["theorem"].unique()), dashes).items():
        labels = table.loc[table["theorem"] == theorem, "algorithm"].unique()
        found[theorem] = (dash, styles.of(labels[0])["color"] if len(labels) == 1 else plot.GREY)
    return found


def _draw_reference(axis: plot.Axes, rows: plot.Frame) -> bool:
    """Draw a line at the median number of features of the reference, and a band of all."""
    if "reference_features" not in rows.columns or rows["reference"].nunique() > 1:
        return False
    counts = rows["reference_features"].dropna()
    if counts.empty:
        return False
    axis.axvline(counts.median(), **plot.REFERENCE_LINE, gid="reference")
    axis.axvspan(counts.min(), counts.max(), **_RANGE, zorder=0.4)
    return True


class _ExcessAxis:
    """A logarithmic vertical axis of risks, and a strip below for those at zero or below.

    Parameters
    ----------
    lines : sequence of DataFrame
        Measurements, from ``medians``.
    bounds : array_like
        Other values, shown up to a factor above the measurements.
    floor : float > 0
        Values up to ``floor`` count as zero.
    """

    def __init__(self, lines: Sequence[plot.Frame], bounds: Any, floor: float):
        import pandas as pd

        seen = pd.concat(list(lines))[["low", "estimate", "high"]].astype(float)
        bounds = np.asarray(bounds, dtype=float)
        above = seen.where(seen > floor)
        high = np.nanmax(above.to_numpy(), initial=2.0 * floor)
        median = np.nanmin(above["estimate"].to_numpy(), initial=high)
        band = np.nanmin(above["low"].to_numpy(), initial=median)
        self.low = max(max(band, median / _BELOW) / 1.5, floor)
        shown = bounds[np.isfinite(bounds)].max(initial=high)
        self.high = max(min(shown, plot.MAX_ABOVE * high) * 1.5, 10.0 * self.low)
        self.has_zero = bool((seen["estimate"] <= floor).any())
        decades = np.log10(self.high / self.low)
        self.bottom = self.low / 10 ** (_STRIP * decades) if self.has_zero else self.low

    def shown(self, points: plot.Frame) -> plot.Frame:
        """Return points at their heights: in the middle of the strip if zero or below."""
        ends = points[["low", "estimate", "high"]]
        return points.assign(**ends.clip(lower=float(np.sqrt(self.low * self.bottom))))

    def __call__(self, axis: plot.Axes, _: Any = None) -> None:
        """Set scale, ticks and limits, and shade the strip."""
        axis.set_yscale("log")
        plot.set_ticks(axis.yaxis, plot.log_ticks(self.low, self.high))
        axis.set_ylim(self.bottom, self.high)
        if self.has_zero:
            axis.axhspan(self.bottom, self.low, color=_SHADE, zorder=0.5, linewidth=0, gid="zero")

    def handles(self, excess: bool) -> list[plot.Patch]:
        """Return the legend entry of the strip.

        Parameters
        ----------
        excess : bool
            True if an excess is drawn, which may be negative.
        """
        from matplotlib.patches import Patch

        label = "at or below the reference" if excess else "zero"
        return [Patch(color=_SHADE, linewidth=0, label=label)] if self.has_zero else []


def recorded_steps(
    chosen: plot.Frame, frame: plot.Frame, keys: Sequence[str], *, mixed: bool = False
) -> plot.Frame:
    """Return one row for each theorem, reference and recorded step, with the columns of the step.

    Parameters
    ----------
    chosen : DataFrame
        The rows to show from a table of protocol ``tradeoff``.
    frame : DataFrame
        The same rows and all rows of record ``step``, which have no theorem and no reference.
    keys : sequence of str
        Columns that separate lines and panels.
    mixed : bool
        Allow several references in a line.

    Raises
    ------
    ConfigError
        If a column is missing or has wrong values, or lines would mix references.
    """
    columns = [*dict.fromkeys([*keys, "theorem", "reference"])]
    rows = plot.records(chosen, "bound", columns, finite=["step", "excess"])
    plot.require_columns(frame, ["excess_bound", *_OF_STEP])
    plot.require_numeric(frame, "excess_bound", *_OF_STEP)
    if not mixed:
        refuse_mixed_references(rows, list(keys))
    same = [*plot.identity(frame), "step"]
    steps = plot.records(frame, "step", ["step", "features", "risk"])[[*same, *_OF_STEP]]
    rows = rows.drop(columns=_OF_STEP)
    return rows.merge(steps, on=same, how="left", validate="many_to_one")


def curves(rows: plot.Frame, frame: plot.Frame, keys: Sequence[str], x: str, y: str) -> plot.Frame:
    """Compute median and band of a measurement along steps or features.

    Parameters
    ----------
    rows : DataFrame
        The result of ``recorded_steps``.
    x : {"features", "step"}
        With "features", the value at m is the least of all recorded steps with at most m features,
        up to the largest number of features of a replicate of the line.
    y : {"excess", "risk", "gap"}

    Returns
    -------
    DataFrame
        The keys, ``at``, and the columns of ``medians``, where all replicates of a line have a
        value.

    Raises
    ------
    ConfigError
        If no row has a value.
    """
    # A replicate is counted once, even if it has several theorems and references.
    own = [*dict.fromkeys([*plot.identity(frame), *keys])]
    once = rows.dropna(subset=[y]).drop_duplicates([*own, "step"])
    if once.empty:
        raise ConfigError(
            f"no run has a {y}, so there is nothing to draw.", remedy="Leave it out of `measured`."
        )
    if x == "step":
        placed = once.assign(at=once["step"], value=once[y])
    else:
        last = once.groupby(list(keys))["features"].transform("max")
        placed = _least(once.assign(last=last), own, y)
    return plot.medians(placed, [*keys, "at"], "value", whole=keys)


def _least(rows: plot.Frame, own: Sequence[str], y: str) -> plot.Frame:
    """Return the least value of each replicate with at most m features, from its smallest m on."""
    counts, last = rows["features"].to_numpy(), rows["last"].to_numpy()
    values = rows[y].to_numpy(dtype=float)
    first, at, found = [], [], []
    for part in plot.positions(rows, own):
        part = part[np.argsort(counts[part], kind="stable")]
        numbers = _feature_numbers(int(counts[part[0]]), int(last[part[0]]))
        least = np.minimum.accumulate(values[part])
        first.append(np.full(len(numbers), part[0]))
        at.append(numbers)
        found.append(least[np.searchsorted(counts[part], numbers, side="right") - 1])
    placed = rows.iloc[np.concatenate(first)]
    return placed.assign(at=np.concatenate(at), value=np.concatenate(found))


def _feature_numbers(first: int, last: int) -> np.ndarray:
    """Return all numbers up to 50, then some at a ratio of about 1.05, and the last."""
    whole = np.arange(min(last, 50) + 1)
    if last > 50:
        beyond = np.geomspace(50, last, max(2, int(48 * np.log10(last / 50))))
        whole = np.union1d(whole, np.rint(beyond).astype(int))
    return whole[whole >= first]


def bounds(
    rows: plot.Frame,
    frame: plot.Frame,
    keys: Sequence[str],
    x: str,
    shown: Sequence[str] | None,
) -> plot.Frame:
    """Compute the median bound after each number of steps for some theorems, all if None.

    A bound after k steps is a bound for k features only if the predictors of the algorithm never
    have more features than steps. If theorems have the same bound, the first one is kept.
    """
    if x == "features":
        more = rows["features"] > rows["step"]
        rows = rows[~more.groupby([rows[name] for name in keys]).transform("any")]
    if shown is not None and not shown:
        # Without bounds, a line may have several references.
        rows = rows.iloc[:0]
    table = bound_medians(rows, frame, keys, "step", "excess_bound").rename(columns={"step": "at"})
    if shown is not None:
        table = table[table["theorem"].isin(shown)]
    names = [*dict.fromkeys([*keys, "theorem"])]
    values = table.groupby(names, sort=False)["estimate"].agg(tuple).reset_index()
    first = values.drop_duplicates([*keys, "estimate"])
    return table.merge(first[names], on=names)
