"""Refusing impossible pairs: parts that need what the data do not have, names that collide."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress

from greedyexp.errors import did_you_mean
from greedyexp.experiment.asking import describe, guarded, refusal
from greedyexp.experiment.blocks import Block
from greedyexp.experiment.data import COLUMN, Data
from greedyexp.experiment.document import Document
from greedyexp.experiment.mistakes import Keys, Mistakes
from greedyexp.experiment.model import AlgorithmSpec
from greedyexp.experiment.radius import radius_instead
from greedyexp.experiment.shapes import Shape, Untold
from greedyexp.experiment.where import Choice, untold, wrong_choices
from greedyexp.frames.entries import entry_of
from greedyexp.frames.records import remedy_for
from greedyexp.frames.results import ENDINGS, told_by_results
from greedyexp.protocols.tuning import check_folds
from greedyexp.registry import RESERVED_COLUMNS, Part, parts

_NEEDS = {
    "truth": ("the true coefficients", "does not know them"),
    "multi_task": ("several tasks", "makes one"),
    "noise_std": ("the noise level", "does not give it"),
    "test_rows": ("rows held out for testing", "holds out none"),
    "labels": ("class labels as responses", "gives none"),
    "chains": ("sequences of labelled words", "makes none"),
    "one_response": ("one response", "makes several"),
    "moments": ("the moments of the distribution", "does not know them"),
    "rows": ("rows of data", "draws none"),
    "spread_label": ("a label spread over all features", "makes none"),
}
# What data have unless they provide another trait.
_UNLESS = {"one_response": "multi_task", "rows": "population"}
# What a column of a protocol needs, and the parameter that asks for it.
_ASKED_NEEDS = {"class_error": ("classes_at", "test_rows")}


def _missing_at(trait: str, block: Block) -> str | None:
    """Where the trait is missing: a phrase, empty for everywhere, None for nowhere."""
    if trait in _UNLESS:
        return _where([_UNLESS[trait] in traits for traits in block.traits], block)
    return _where([trait not in traits for traits in block.traits], block)


def _where(concerned: list[bool], block: Block) -> str | None:
    """Which points of a block: a phrase, empty for all of them, None for none."""
    points = [point for point, one in zip(block.points, concerned, strict=True) if one]
    if not points:
        return None
    return "" if len(points) == len(block.points) else f" at {describe(points[0], block.swept)}"


def _refuse(
    who: str,
    trait: str,
    data: Data,
    keys: Keys,
    doc: Document,
    mistakes: Mistakes,
    remedy: str = "",
) -> None:
    need, lack = _NEEDS.get(trait, (f"the trait '{trait}'", "does not have it"))
    for block in data.blocks:
        where = _missing_at(trait, block)
        if where is not None:
            said = f"{who} needs {need} but {block.named} {lack}{where}."
            mistakes.add(doc.place(keys), said, remedy)
            return


def refuse_measured(
    part: Part,
    params: dict,
    measured: Collection[str],
    data: Data,
    doc: Document,
    mistakes: Mistakes,
) -> None:
    """Note what a protocol needs or is asked for and the data cannot give.

    Parameters
    ----------
    params : dict
        Its parameters.
    measured : collection of str
        Its columns.
    """
    for trait in part.needs(params):
        _refuse(f"protocol '{part.name}'", trait, data, ("protocol", part.name), doc, mistakes)
    for column in _ASKED_NEEDS.keys() & measured:
        asked, trait = _ASKED_NEEDS[column]
        keys = ("protocol", part.name, asked)
        _refuse(f"{asked} of protocol '{part.name}'", trait, data, keys, doc, mistakes)


def refuse_part(part: Part, data: Data, keys: Keys, doc: Document, mistakes: Mistakes) -> None:
    """Note every trait that an algorithm or a metric needs and the data lack, or cannot take."""
    of_rows = part.kind == "algorithm" and not part.extra["takes_population"]
    for trait in (*part.requires, *(("rows",) if of_rows else ())):
        _refuse(f"{part.kind} '{part.name}'", trait, data, keys, doc, mistakes)
    makes = _maker("sparse", data)
    if makes is not None and part.kind == "algorithm" and not part.extra["takes_sparse"]:
        who, where = makes
        mistakes.add(
            doc.place(keys),
            f"algorithm '{part.name}' takes no sparse design but {who} makes one{where}.",
        )


def _maker(trait: str, data: Data) -> tuple[str, str] | None:
    """The first block whose problems have the trait, and at which point (empty for all)."""
    for block in data.blocks:
        where = _where([trait in traits for traits in block.traits], block)
        if where is not None:
            return block.named, where
    return None


def refuse_tuning(
    part: Part, tuning: str, data: Data, keys: Keys, doc: Document, mistakes: Mistakes
) -> None:
    """Note a tuning that the data or the algorithm cannot have."""
    if tuning == "oracle":
        _refuse("tuning 'oracle'", "truth", data, keys, doc, mistakes)
    makes = _maker("chains", data)
    if tuning == "cv" and makes is not None:
        who, where = makes
        others = ", or tuning: oracle" if data.all_have("truth") else ""
        mistakes.add(
            doc.place(keys),
            f"tuning 'cv' takes rows apart but {who} makes chains of them{where}.",
            f"Use protocol selection{others}.",
        )
    if tuning == "theory":
        if part.extra.get("theory") is None:
            mistakes.add(
                doc.place(keys),
                f"no theory prescribes the tuning of algorithm '{part.name}'.",
                "Use oracle or cv.",
            )
        else:
            for trait in part.extra["theory_requires"]:
                _refuse("tuning 'theory'", trait, data, keys, doc, mistakes)


def refuse_parameters(
    part: Part,
    specs: list[AlgorithmSpec],
    data: Data,
    keys: Keys,
    doc: Document,
    mistakes: Mistakes,
) -> None:
    """Note the first algorithm of an entry that some data make impossible.

    That they lack a trait which these parameters need, or by their shape.
    """
    place = doc.place(keys)
    for spec in specs:
        with guarded("requires", part, place):
            needs = part.needs(spec.params)
        before = len(mistakes.found)
        for trait in needs:
            remedy = radius_instead(part, spec.params, trait)
            if trait == "moments":
                remedy = "Use risk: sample, or data with moments, such as response: linear."
            _refuse(f"algorithm '{spec.label}'", trait, data, keys, doc, mistakes, remedy)
        if len(mistakes.found) > before:
            return
    for spec, block in itertools.product(specs, data.blocks):
        what = f"impossible parameters of algorithm '{spec.label}'"
        what += f" for data '{block.label}'" if data.listed else ""
        for rule in _rules(part, spec):
            cases = ((group.point, group.count, group.shape) for group in block.shapes)
            with guarded("check", part, place):
                refused = refusal(what, rule, cases, block.swept, len(block.points))
            if refused is not None:
                mistakes.add(place, refused)
                return


def refuse_needs_for(
    protocol: Part,
    params: dict,
    specs: list[AlgorithmSpec],
    data: Data,
    keys: Keys,
    doc: Document,
    mistakes: Mistakes,
) -> None:
    """Note the first algorithm for which a protocol with ``params`` needs what some data lack."""
    needs_for, before = protocol.extra["needs_for"], len(mistakes.found)
    for spec in specs if needs_for is not None else ():
        with guarded("needs_for", protocol, doc.place(keys)):
            needs = needs_for(spec.params, **params)
        who = f"protocol '{protocol.name}' with algorithm '{spec.label}'"
        remedy = f"Give radius of protocol '{protocol.name}'." if "radius" in params else ""
        for trait in needs:
            _refuse(who, trait, data, keys, doc, mistakes, remedy)
        if len(mistakes.found) > before:
            return


def _rules(part: Part, spec: AlgorithmSpec) -> Iterator[Callable[[Shape], None]]:
    """What refuses a shape, each silent on shapes that do not tell what it reads."""
    check = part.extra.get("check")

    def of_algorithm(shape: Shape) -> None:
        with suppress(Untold):
            check(shape, **spec.params)

    def of_folds(shape: Shape) -> None:
        with suppress(Untold):
            check_folds(shape["n_samples"], spec.folds)

    if check is not None:
        yield of_algorithm
    if spec.tuning == "cv":
        yield of_folds


def refuse_figure(
    part: Part,
    params: dict,
    known: set[str],
    measured: list[str],
    keys: Keys,
    doc: Document,
    mistakes: Mistakes,
) -> None:
    """Note every column that a figure reads and the CSV will not have, or cannot be told apart by.

    Parameters
    ----------
    known : set of str
        All columns.
    measured : list of str
        Those of the protocol by which nothing may be told apart.
    """
    wanted = part.extra.get("columns")
    for name in wanted(**params) if wanted else ():
        if name not in known:
            mistakes.add(
                doc.place(keys),
                f"{part.kind} '{part.name}' reads a column '{name}', which the CSV will not have.",
                remedy_for(name) or did_you_mean(name, known),
            )
    written = {key: value for key, value in params.items() if key != "where"}
    for name in _texts() & set(_words(written)):
        mistakes.add(
            doc.place(keys), f"{part.kind} '{part.name}' cannot show '{name}', which is a text."
        )
    for message, remedy in told_by_results(part, params, (*measured, *ENDINGS)):
        mistakes.add(doc.place(keys), message, remedy)


def _texts() -> set[str]:
    """The metrics whose values are texts."""
    return {name for name, metric in parts("metric").items() if metric.extra["text"]}


def _words(value) -> Iterator[str]:
    """Every text in plain data, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for item in value:
            yield from _words(item)
        if isinstance(value, dict):
            yield from _words(list(value.values()))


def refuse_choice(
    part: Part, params: dict, choice: Choice, keys: Keys, doc: Document, mistakes: Mistakes
) -> None:
    """Note what keeps a figure or a table that chooses rows by ``where`` from finding them.

    Values that no row has, in ``where`` and among published numbers, and columns to be shown that
    are in none of the rows chosen, or not in those that have the column ``row``.
    """
    where = params.get("where")
    if where is None:
        return
    row = params.get("row")
    # Columns that are no axis of anything hold results, of which only the run tells the values.
    axes = {*choice.data.columns, *choice.setting.columns, *choice.setting.keys} - {"algorithm"}
    known = {name: value for name, value in where.items() if name in axes or value == []}
    wrong = [(("where", name), *said) for name, *said in wrong_choices(known, choice)]
    shown = [name for name in part.extra["columns"](**params) if name not in (row, *where)]
    for name in () if wrong else shown:
        for at, *said in untold(known, {name} if row is None else {name, row}, choice):
            wrong.append((("where", at) if at in where else ("row",), *said))
    levels = {level for numbers in _published(params, part) for level in numbers}
    if row in choice.values and row not in choice.data.columns:
        asked = {row: sorted(map(_plain, levels), key=str)} if levels else {}
        wrong += [(("published",), *said) for _, *said in wrong_choices(asked, choice)]
    for inner, message, remedy in wrong:
        mistakes.add(doc.place((*keys, *inner)), message, remedy)


def _published(params: dict, part: Part) -> Iterator[dict]:
    """The printed numbers of a figure or a table, by value of its column ``row``."""
    given = params.get("published") or {}
    for numbers in given.values() if part.extra.get("by_algorithm") == "published" else ():
        nested = any(isinstance(value, dict) for value in numbers.values())
        yield from numbers.values() if nested else [numbers]


def _plain(text: str) -> int | float | str:
    """What a key of YAML, which is read as text, says."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def refuse_base(
    params: dict,
    choice: Choice,
    algorithms: list[AlgorithmSpec],
    keys: Keys,
    doc: Document,
    mistakes: Mistakes,
) -> None:
    """Note a ``base`` that is no column of a table: an algorithm of many, or none at all."""
    base, row = params.get("base"), params.get("row")
    if not isinstance(base, str):
        return
    columns = {
        entry_of(spec.label, choice.setting.algorithms)
        if spec.swept and set(spec.swept) <= {row}
        else spec.label
        for spec in algorithms
    }
    if base not in columns:
        mistakes.add(
            doc.place((*keys, "base")),
            f"`base` names '{base}', which has no column of its own.",
            did_you_mean(base, columns),
        )


def refuse_strangers(
    part: Part,
    params: dict,
    known: set[str],
    keys: Keys,
    doc: Document,
    mistakes: Mistakes,
    *,
    changed: bool,
) -> None:
    """Note every algorithm that a figure has something about and the experiment lacks.

    Parameters
    ----------
    known : set of str
        Labels and names of the algorithms.
    changed : bool
        Whether profile or command line replaced the algorithms of the file: what is said about
        those no longer there is left out then.
    """
    name = part.extra.get("by_algorithm")
    given = params.get(name) or ()
    labels = enumerate(given) if isinstance(given, list) else zip(given, given, strict=True)
    strangers = {key: label for key, label in labels if label not in known}
    # The last first, as what stands behind an item taken out of a list moves up.
    for key in reversed(strangers if changed else ()):
        del given[key]
        doc.remove((*keys, name, key))
    for key, label in () if changed else strangers.items():
        mistakes.add(
            doc.place((*keys, name, key)),
            f"`{name}` names an algorithm '{label}', which the experiment does not have.",
            did_you_mean(label, known),
        )


def refuse_columns(
    data: Data,
    algorithms: list[AlgorithmSpec],
    measured: list[str],
    doc: Document,
    mistakes: Mistakes,
) -> set[str]:
    """Note names that would be two columns of the CSV.

    Parameters
    ----------
    measured : list of str
        The columns of the protocol: its own and one for each metric.

    Returns
    -------
    set of str
        All columns, those for the facts of the data included.
    """
    swept = {name for spec in algorithms for name in spec.swept}
    columns = Counter([*data.columns, *RESERVED_COLUMNS, *sorted(swept), *measured])
    # A fact may fill a parameter's column, but not that of the labels.
    columns.update({COLUMN} & data.facts if data.listed else ())
    for name in [name for name, count in columns.items() if count > 1]:
        if name in swept:
            keys: Keys = ("algorithms",)
        else:
            listed = name in (doc.get(("metrics",)) or ())
            keys = ("data",) if name in data.columns else ("metrics" if listed else "protocol",)
        remedy = "Write one entry for each value, each with a label." if name in swept else ""
        said = f"two columns of the CSV would be named '{name}'."
        mistakes.add(doc.place(keys), said, remedy or "Rename one.")
    return {*columns, *data.facts}
