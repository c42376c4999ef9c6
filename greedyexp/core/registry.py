"""Named parts: generators, algorithms, protocols, metrics, figures, tables, each one function.

A part's parameters are the keyword-only arguments of its function. Their annotations give types,
ranges and help (``Annotated[float, Field(ge=0, description="...")]``); their defaults are the
defaults a user sees. Nothing here imports numpy, so that ``greedyexp --help`` stays fast.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from greedyexp.core.errors import ConfigError, PluginError, did_you_mean
from greedyexp.core.parts import GIVEN, Part, RecordKind, place_of

PACKAGES = {
    "generator": "greedyexp.generators",
    "algorithm": "greedyexp.algorithms",
    "protocol": "greedyexp.protocols",
    "metric": "greedyexp.metrics",
    "figure": "greedyexp.figures",
    "table": "greedyexp.tables",
}

# Keys that an entry of a YAML file has beside the part's own parameters.
RESERVED: dict[str, tuple[str, ...]] = {
    "generator": ("generator", "label", "sweep"),
    "algorithm": ("label", "tuning", "folds", "sweep"),
}

# Columns of the CSV that every experiment has, beside those of its data and its protocol.
RESERVED_COLUMNS = ("replicate", "algorithm", "status", "message")

# What an algorithm gives, in words; a protocol takes one of these.
YIELDS = {"estimates": "estimates", "iterates": "iterates", "constant": "a constant"}


# What each kind of function is called with by position; all else must be keyword-only.
POSITIONAL: dict[str, tuple[str, ...]] = {
    "generator": ("rng",),
    "algorithm": ("problem",),
    "protocol": ("problem", "part", "params", "setup"),
    "metric": ("problem", "coef"),
    "figure": ("frame", "context"),
    "table": ("frame", "context"),
}

_PARTS: dict[str, dict[str, Part]] = {kind: {} for kind in PACKAGES}

# Where parts go while a plugin is imported; None at other times.
_collected: list[Part] | None = None


@contextmanager
def collecting() -> Iterator[list[Part]]:
    """Collect the parts that plugins register inside; ``make_current`` lets them be found."""
    global _collected
    before, _collected = _collected, []
    try:
        yield _collected
    finally:
        _collected = before


def make_current(
    new: Sequence[Part], replaces: Callable[[Part], bool] = lambda known: False
) -> None:
    """Let parts be found by name, all of them or, when one is refused, none.

    Parameters
    ----------
    new : sequence of Part
    replaces : callable
        Whether a part of another source may be replaced.

    Raises
    ------
    PluginError
        When another part has the kind and the name.
    """
    for part in new:
        known = _PARTS[part.kind].get(part.name)
        if not (known is None or _same_source(known, part) or replaces(known)):
            raise already_registered(part, known)
    for part in new:
        _PARTS[part.kind][part.name] = part


def already_registered(part: Part, known: Part) -> PluginError:
    """The refusal of a part whose kind and name another one has."""
    if known.shipped:
        said = f"{part.kind} '{part.name}' is already part of greedyexp."
    else:
        said = f"{part.kind} '{part.name}' is already registered ({known.place})."
    return PluginError(said, place=part.place, remedy="Choose another name.")


def _register(part: Part) -> None:
    _refuse_signature(part)
    if part.shipped:
        make_current([part])
        return
    # Shipped parts are imported first, so a plugin cannot take their names.
    known = parts(part.kind).get(part.name)
    if known is not None and known.shipped:
        raise already_registered(part, known)
    if _collected is None:
        make_current([part])
        return
    for other in _collected:
        if (other.kind, other.name) == (part.kind, part.name):
            raise already_registered(part, other)
    _collected.append(part)


def _refuse_signature(part: Part) -> None:
    arguments = inspect.signature(part.function).parameters
    reserved = RESERVED.get(part.kind, ())
    # Inside ``sweep``, zip stands beside parameters.
    taken = {*reserved, "zip"} & set(arguments)
    if reserved and taken:
        raise PluginError(
            f"{part.kind} '{part.name}' has a parameter '{min(taken)}', which an experiment file"
            " uses for something else.",
            place=part.place,
            remedy="Choose another name.",
        )
    given = POSITIONAL[part.kind]
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    by_position = [name for name, one in arguments.items() if one.kind in kinds]
    if part.kind == "algorithm":
        by_position = [name for name in by_position if name not in GIVEN]
    example = f"def {part.name}({', '.join(given)}, *, ...)"
    if len(by_position) > len(given):
        raise PluginError(
            f"parameter '{by_position[len(given)]}' of {part.kind} '{part.name}' must be"
            " keyword-only.",
            place=part.place,
            remedy=f"Put parameters after a `*`: {example}.",
        )
    variable = any(one.kind is one.VAR_POSITIONAL for one in arguments.values())
    if len(by_position) < len(given) and not variable:
        raise PluginError(
            f"{part.kind} '{part.name}' must take the positional arguments {', '.join(given)}.",
            place=part.place,
            remedy=f"Write {example}.",
        )


def _refuse_bare(kind: str, name: object) -> None:
    """Refuse a decorator without parentheses, and a name that is not a string."""
    if callable(name):
        raise PluginError(
            f"@{kind} needs the name of the part.",
            place=place_of(name),
            remedy=f'Write @{kind}("{getattr(name, "__name__", "name")}").',
        )
    if not isinstance(name, str) or not name:
        raise PluginError(
            f"the name of a part must be a string, but @{kind} got {name!r}.",
            remedy=f'Write @{kind}("name").',
        )


def _same_source(one: Part, other: Part) -> bool:
    """Whether one is a new definition of the other, as when a notebook runs a cell again."""
    first, second = one.function, other.function
    return one is other or (
        getattr(first, "__module__", None) == getattr(second, "__module__", None)
        and getattr(first, "__qualname__", None) == getattr(second, "__qualname__", None)
    )


def generator(
    name: str,
    *,
    title: str | None = None,
    paper: str = "",
    provides: Iterable[str] | Callable[..., Iterable[str]] = (),
    check: Callable[..., None] | None = None,
    shape: Callable[..., dict] | None = None,
    reads: Callable[..., Iterable[str]] | None = None,
    facts: Iterable[str] = (),
    describe: Callable[..., Iterable[str]] | None = None,
    unseeded: Iterable[str] = (),
):
    """Register ``function(rng, *, parameters) -> Problem`` as a data generator.

    Parameters
    ----------
    name : str
        What a YAML file calls it.
    provides : iterable of str, or callable of the parameters returning one
        Traits of its problems (see ``Part.requires``).
    check : callable of the parameters, optional
        Raises ``ValueError`` with a sentence when values are impossible together; called for every
        point of a sweep before any work starts.
    shape : callable of the parameters, optional
        What is known of the problems before they are drawn, any of ``Problem.shape``; algorithms
        are checked against it before any work starts.
    reads : callable of the parameters, optional
        Files the data come from; their contents count among what determines a result.
    facts : iterable of str
        Keys of ``Problem.facts``, each a column of the CSV that figures may name.
    describe : callable of the parameters, optional
        Lines about the data that ``check`` and ``run`` print, such as which columns of a file are
        features.
    unseeded : iterable of str
        Parameters that do not enter the random streams, since they only say how a file is
        read. They are part of what determines a result all the same.
    """
    _refuse_bare("generator", name)

    def decorate(function):
        if isinstance(provides, str):
            raise PluginError(
                f"provides of generator '{name}' must be a tuple of traits.",
                place=place_of(function),
                remedy=f'Write provides=("{provides}",).',
            )
        extra = {
            "provides": provides,
            "check": check,
            "shape": shape,
            "reads": reads,
            "facts": tuple(facts),
            "describe": describe,
            "unseeded": frozenset(unseeded),
        }
        _register(Part("generator", name, function, title or name, paper, (), extra))
        return function

    return decorate


def algorithm(
    name: str,
    *,
    title: str | None = None,
    paper: str = "",
    requires: Iterable[str] | Callable[..., Iterable[str]] = (),
    check: Callable[..., None] | None = None,
    theory: Callable | None = None,
    theory_requires: Iterable[str] = ("noise_std",),
    yields: str = "estimates",
    guarantee: Callable | None = None,
    prediction: Callable | None = None,
    takes_sparse: bool = False,
    takes_population: bool = False,
    theorems: Callable | None = None,
    stops: Iterable[str] = (),
):
    """Register ``function(problem, *, parameters)`` as an algorithm.

    ``yields`` says what the function returns. Estimates are one array (p, r), or a ``Path``;
    one that returns a path has a keyword argument ``grid=None``: called with the grid of an earlier
    path it returns a path with exactly those points, which is what cross-validation needs. One that
    draws at random has a keyword argument ``rng=None``, the random stream of this algorithm on this
    problem; neither is a parameter that an experiment sets.
    Iterates are an ``Iteration``, a constant is a ``Constant``.

    Parameters
    ----------
    name : str
        What a YAML file calls it.
    requires : iterable of str, or callable of the parameters returning one
        Traits a problem must have.
    check : callable, optional
        ``check(shape, **parameters)`` raises ``ValueError`` with a sentence when a problem of that
        shape (the dict ``Problem.shape``) makes the parameters impossible. Called before any work
        starts for every shape that the generator tells; where the generator does not tell what
        the check reads by ``shape[...]``, the check ends there.
    theory : callable, optional
        ``theory(problem, **parameters) -> grid`` of one point, the tuning that theory prescribes.
    theory_requires : iterable of str
        Traits a problem must have for that.
    yields : {"estimates", "iterates", "constant"}
        What the function returns; only protocols that take it can evaluate the algorithm.
    guarantee : callable, optional
        ``guarantee(problem, optimum, **parameters) -> Guarantee``, the theorem that bounds how far
        iterates are from the optimum.
    prediction : callable, optional
        ``prediction(n, p) -> float or None``, the rate that random designs of n rows and p columns
        approach.
    takes_sparse : bool
        Whether designs may be CSR arrays of scipy.sparse (trait ``sparse``); it is never called
        with one otherwise.
    takes_population : bool
        Whether problems may have no rows, only moments (trait ``population``); it is never called
        with one otherwise.
    theorems : callable, optional
        ``theorems(path, reference, **parameters) -> list of Promise``, what is proved of the path
        against a reference predictor (``theory.promise``).
    stops : iterable of str
        Parameters that say where its path ends. ``solve`` says that nothing was tuned when it
        returns the end of a path and none of them is given.
    """
    _refuse_bare("algorithm", name)
    if yields not in YIELDS:
        raise PluginError(f"algorithm '{name}': yields must be one of {', '.join(YIELDS)}.")

    def decorate(function):
        extra = {
            "check": check,
            "theory": theory,
            "theory_requires": tuple(theory_requires),
            "yields": yields,
            "guarantee": guarantee,
            "prediction": prediction,
            "takes_sparse": takes_sparse,
            "takes_population": takes_population,
            "theorems": theorems,
            "stops": tuple(stops),
        }
        traits: tuple[str, ...] = ()
        if callable(requires):
            extra["needs"] = requires
        else:
            traits = tuple(requires)
        _register(Part("algorithm", name, function, title or name, paper, traits, extra))
        return function

    return decorate


def protocol(
    name: str,
    *,
    takes: str = "",
    columns: Callable[..., Iterable] | None = None,
    title: str | None = None,
    paper: str = "",
    records: Iterable[RecordKind] = (),
    metrics: bool = False,
    tunes: bool = True,
    check: Callable[..., None] | None = None,
    needs: Callable[..., Iterable[str]] | None = None,
    needs_for: Callable[..., Iterable[str]] | None = None,
):
    """Register ``function(problem, part, params, setup, *, parameters) -> Outcome`` as a protocol.

    ``part`` is an algorithm, ``params`` are its parameters; ``setup`` (``protocols.setup.Setup``)
    holds tuning, folds, metrics, the random stream and the clock. A protocol that times the fit by
    that clock gives ``Outcome.fit_seconds`` and lists ``protocols.measured.FIT_SECONDS`` among its
    columns.

    Parameters
    ----------
    name : str
        What a YAML file calls it.
    takes : {"estimates", "iterates", "constant"}
        What algorithms must give to be evaluated.
    columns : callable
        ``columns(metrics, **parameters)`` gives a ``protocols.measured.Measured`` for every column
        that rows may have. It raises ``ValueError`` with a sentence when parameters are impossible
        together.
    records : iterable of RecordKind
        The kinds of rows that it can write, if there are several: one for each value that its
        column ``record`` may have.
    metrics : bool
        Whether it computes metrics: an experiment lists at least one then, and none otherwise.
    tunes : bool
        Whether it chooses a point of an algorithm's path, which an experiment may tell how.
    check : callable, optional
        ``check(algorithm_parameters, **parameters)`` raises ``ValueError`` with a sentence when an
        algorithm with these parameters cannot give what the protocol asks for.
    needs : callable of the parameters returning an iterable of str, optional
        Traits a problem must have.
    needs_for : callable, optional
        ``needs_for(algorithm_parameters, **parameters)`` gives those that a problem must have
        besides, for an algorithm with these parameters.
    """
    _refuse_bare("protocol", name)
    # The defaults are refused: they only serve a decorator written without parentheses.
    if takes not in YIELDS:
        raise PluginError(f"protocol '{name}': takes must be one of {', '.join(YIELDS)}.")
    if columns is None:
        raise PluginError(f"protocol '{name}': columns must be a function.")

    def decorate(function):
        extra = {
            "takes": takes,
            "columns": columns,
            "records": tuple(records),
            "metrics": metrics,
            "tunes": tunes,
            "check": check,
            "needs": needs,
            "needs_for": needs_for,
        }
        _register(Part("protocol", name, function, title or name, paper, (), extra))
        return function

    return decorate


def metric(
    name: str,
    *,
    better: str | None = "",
    binary: bool = False,
    title: str | None = None,
    requires: Iterable[str] = (),
    of: str = "coef",
    text: bool = False,
):
    """Register ``function(problem, coef) -> array (...)`` as a metric.

    ``coef`` has shape (..., p, r): the metric is computed for every estimate of a path at once. A
    metric is listed by its name alone, so keyword-only arguments need a default, which stands.
    One of a path is ``function(problem, path) -> array (m,)``, for what is not told by the
    coefficients alone: the objective, dense coefficients, the loss, what happened on the way.

    Parameters
    ----------
    name : str
        What a YAML file calls it and the name of its column.
    better : {"higher", "lower", None}
        Direction of improvement; None for a description that has none, such as a support size.
    binary : bool
        Whether it is a success: its values are 0 and 1.
    of : {"coef", "path"}
        What it is computed from.
    text : bool
        Whether its values are texts. They have no direction and cannot be successes.
    """
    _refuse_bare("metric", name)
    if of not in ("coef", "path"):
        raise PluginError(f"metric '{name}': of must be 'coef' or 'path'.")
    if better not in ("higher", "lower", None):
        raise PluginError(f"metric '{name}': better must be 'higher', 'lower' or None.")
    if text and (binary or better is not None):
        raise PluginError(f"metric '{name}': a text cannot be a success and has no direction.")

    def decorate(function):
        for argument in inspect.signature(function).parameters.values():
            if argument.kind is argument.KEYWORD_ONLY and argument.default is argument.empty:
                raise PluginError(
                    f"metric '{name}' needs a value for '{argument.name}', which an experiment"
                    " file has no place for.",
                    place=place_of(function),
                    remedy="Give it a default.",
                )
        extra = {"better": better, "binary": binary, "of": of, "text": text}
        _register(Part("metric", name, function, title or name, "", tuple(requires), extra))
        return function

    return decorate


def figure(
    name: str,
    *,
    title: str | None = None,
    columns: Callable[..., Iterable[str]] | None = None,
    apart: Callable[..., Iterable[str]] | None = None,
    by_algorithm: str | None = None,
):
    """Register ``function(frame, context, *, parameters) -> matplotlib Figure``.

    ``frame`` is the tidy table (``fit_seconds`` included), ``context`` a
    ``greedyexp.results.context.Context``. The figure is saved as PNG and PDF in the style of the
    package.

    Parameters
    ----------
    name : str
        What a YAML file calls it.
    columns : callable of the parameters, optional
        Columns of the CSV that the figure reads; one that an experiment will not have is refused
        before any work starts.
    apart : callable of the parameters, optional
        All columns that tell points, lines and panels apart, ``algorithm`` among them if lines or
        panels do. A result of the run is refused here too. The figure may average over
        replicates only: another column that varies becomes ``panel``, ``row`` or the second of
        ``line`` if the function has these parameters and they are not in use; otherwise the figure
        is refused. Without ``apart`` nothing is checked.
    by_algorithm : str, optional
        A parameter that is a list of algorithms, or a mapping with algorithms as keys; one that an
        experiment does not have is refused likewise.
    """
    _refuse_bare("figure", name)
    extra = {"columns": columns, "apart": apart, "by_algorithm": by_algorithm}

    def decorate(function):
        _register(Part("figure", name, function, title or name, extra=extra))
        return function

    return decorate


def table(
    name: str,
    *,
    title: str | None = None,
    columns: Callable[..., Iterable[str]] | None = None,
    apart: Callable[..., Iterable[str]] | None = None,
    by_algorithm: str | None = None,
):
    """Register ``function(frame, context, *, parameters) -> DataFrame`` of cells to print.

    ``attrs["notes"]`` of the DataFrame may hold a list of sentences for the caption and
    ``attrs["title"]`` replaces ``title``. Parameters are as for ``figure``.
    """
    _refuse_bare("table", name)
    extra = {"columns": columns, "apart": apart, "by_algorithm": by_algorithm}

    def decorate(function):
        _register(Part("table", name, function, title or name, extra=extra))
        return function

    return decorate


def find(kind: str, name: str, *, place: str | None = None) -> Part:
    """The part of that kind and name.

    Raises
    ------
    ConfigError
        When there is none; the message names the nearest.
    """
    known = parts(kind)
    if name not in known:
        raise ConfigError(
            f"there is no {kind} named '{name}'.", place=place, remedy=did_you_mean(name, known)
        )
    return known[name]


def parts(kind: str) -> dict[str, Part]:
    """All parts of a kind by name, sorted; the package's own modules are imported first."""
    package = importlib.import_module(PACKAGES[kind])
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
    return dict(sorted(_PARTS[kind].items()))
