"""The kinds of parts: generators, algorithms, losses, protocols, metrics, figures and tables."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from greedyexp.core.errors import ConfigError, DataError, UserError
from greedyexp.core.packages import versions
from greedyexp.core.part import Part

if TYPE_CHECKING:
    import numpy as np

# Fixed traits, or a function of the parameters that returns them.
Traits = Iterable[str] | Callable[..., Iterable[str]]

# Kinds of values that algorithms return, and their names in messages. A protocol takes one kind.
YIELDS = {"estimates": "estimates", "iterates": "iterates", "constant": "a constant"}


@dataclass(frozen=True)
class RecordKind:
    """One kind of row that a protocol writes; the column ``record`` names the kind of each row.

    Parameters
    ----------
    name : str
        The value of the column ``record``.
    keys : tuple of str
        Columns that distinguish the rows of this kind within one replicate.
    remedy : str
        A sentence that says how to make the protocol write such rows.
    columns : tuple of str
        Measured columns that only rows of this kind have.
    """

    name: str
    keys: tuple[str, ...]
    remedy: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Generator(Part):
    """Register ``function(rng, *, parameters) -> Problem`` as a data generator.

    Parameters
    ----------
    name : str
        Name in YAML files.
    title : str
        Name in figures and tables; default: ``name``.
    paper : str
        Source: paper and number of the equation or section.
    provides : iterable of str, or callable of the parameters returning one
        Traits of the problems: ``truth``, ``multi_task``, ``noise_std``, ``test_rows``,
        ``two_values`` (in each response), ``labels`` (the two values are those that metrics of
        classification need), ``counts`` (responses are whole numbers >= 0), ``classes`` (responses
        are 1 for the class of a row and 0 for the others), ``chains``, ``moments``,
        ``spread_label``, ``covariance`` (of variables without a response, whose pairs are the
        features), ``sparse`` (designs are CSR arrays), ``repeated_rows`` (drawn with replacement)
        or ``population`` (no rows, only moments).
    check : callable of the parameters, optional
        Raises ``ValueError`` for an impossible combination of values. Called for every point of a
        sweep before any work starts.
    shape : callable of the parameters, optional
        Returns the entries of ``Problem.shape`` that are known before problems are drawn.
        Algorithms are checked against these entries before any work starts.
    reads : callable of the parameters, optional
        Returns the files that the data come from. Rows are computed again when their contents
        change.
    facts : iterable of str
        Keys of ``Problem.facts``. Each is a column of the CSV.
    describe : callable of the parameters, optional
        Returns lines about the data that ``check`` and ``run`` print, such as the columns of a
        file that are features.
    unseeded : iterable of str
        Parameters that do not enter the random streams because they only select how a file is
        read. Rows are still computed again when they change.
    left_out : callable of the parameters, optional
        For replicates that are drawn from the rows of one finite data set: returns the share of its
        rows that are not among the training rows of a replicate. It is 0 if all replicates have the
        same rows, and None if these parameters give independent data sets, as all do by default.
        Intervals and claims allow for it (``experiment.resampling``). A row is taken to be
        independent of other rows unless ``provides`` is a tuple with "chains".
    added : iterable of str
        Parameters that a later version added. At their defaults they do not enter the random
        streams, so the data of earlier experiments stay the same.
    """

    provides: Traits = ()
    check: Callable[..., None] | None = None
    shape: Callable[..., dict[str, Any]] | None = None
    reads: Callable[..., Iterable[str]] | None = None
    facts: Iterable[str] = ()
    describe: Callable[..., Iterable[str]] | None = None
    unseeded: Iterable[str] = ()
    left_out: Callable[..., float | None] | None = None
    added: Iterable[str] = ()

    kind = "generator"
    package = "greedyexp.generators"
    positional = ("rng",)
    reserved_keys = ("generator", "label", "sweep")
    sequences = ("facts", "unseeded", "added")

    def traits(self, params: Mapping[str, Any]) -> frozenset[str]:
        """Traits of the problems that these parameters give; labels have two values."""
        given = frozenset(self.provides(**params) if callable(self.provides) else self.provides)
        return given | {"two_values"} if "labels" in given else given

    def left_out_at(self, params: Mapping[str, Any]) -> float | None:
        """The result of ``left_out``, with defaults for parameters that are missing."""
        if self.left_out is None:
            return None
        fields = self.parameters.model_fields
        defaults = {name: one.default for name, one in fields.items() if not one.is_required()}
        return self.left_out(**{**defaults, **params})

    def seeding(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters that enter the random streams."""
        fields = self.parameters.model_fields
        left_out = {name for name in self.added if params[name] == fields[name].default}
        left_out.update(self.unseeded)
        return {name: value for name, value in params.items() if name not in left_out}

    def check_declaration(self) -> None:
        if isinstance(self.provides, str):
            self._refuse(
                "must have 'provides' set to a tuple of traits",
                f'Write provides=("{self.provides}",).',
            )
        if self.reads is not None and self.left_out is None:
            self._refuse(
                "reads files, so it must have 'left_out'",
                "Return None for independent data sets, 0 if all replicates have the same rows, or"
                " the share of the file's rows that a replicate does not train on.",
            )
        optional = {
            name for name, one in self.parameters.model_fields.items() if not one.is_required()
        }
        for name in self.added:
            if name not in optional:
                self._refuse(f"lists '{name}' in 'added', but has no such parameter with a default")
        super().check_declaration()


@dataclass(frozen=True, eq=False)
class Algorithm(Part):
    """Register ``function(problem, *, parameters)`` as an algorithm.

    An algorithm that yields estimates returns one array (p, r) or a ``Path``. If it returns a path,
    it has a keyword argument ``grid=None``: called with the grid of an earlier path, it returns a
    path with exactly those points, as cross-validation requires. An algorithm that draws at random
    has a keyword argument ``rng=None``, its own random stream on this problem. An algorithm with a
    keyword argument ``end=False`` may return the last point of its path alone when it is true, and
    one with ``n_jobs=1`` may use as many threads. None of these is a parameter of an experiment.

    Parameters
    ----------
    name : str
        Name in YAML files.
    title : str
        Name in figures and tables; default: ``name``.
    paper : str
        Source: paper and number of the algorithm.
    requires : iterable of str, or callable of the parameters returning one
        Traits that a problem must have: those of ``provides`` of generators except ``sparse`` and
        ``population``; ``rows`` (any problem that is not ``population``) and ``one_response`` (any
        problem that is not ``multi_task``).
    check : callable, optional
        ``check(shape, **parameters)`` raises ``ValueError`` if a problem of that shape (the dict
        ``Problem.shape``) makes the parameters impossible. It is called before any work starts, for
        every shape that the generator declares. The check ends where it reads an entry of ``shape``
        that is not declared.
    theory : callable, optional
        ``theory(problem, **parameters) -> grid`` returns a grid of one point, the tuning that
        theory prescribes.
    theory_requires : iterable of str
        Traits that a problem must have for ``theory``.
    yields : {"estimates", "iterates", "constant"}
        Kind of the returned value; iterates are an ``Iteration``, a constant is a ``Constant``.
        Only protocols that take this kind can evaluate the algorithm.
    guarantee : callable, optional
        ``guarantee(problem, optimum, **parameters) -> GapBound``, the theorem that bounds the
        distance of the iterates from the optimum.
    prediction : callable, optional
        ``prediction(n, p) -> float or None``, the rate that random designs of n rows and p columns
        approach.
    takes_sparse : bool
        True if designs may be CSR arrays of scipy.sparse (trait ``sparse``).
    takes_population : bool
        True if problems may have moments but no rows (trait ``population``).
    theorems : callable, optional
        ``theorems(path, reference, **parameters) -> list of RiskBound``, the bounds that are proved
        for the path and a reference predictor (``theory.theorems``).
    stops : iterable of str
        Parameters that determine where the path ends. ``solve`` reports that nothing was tuned if
        it returns the end of a path and none of them is given.
    packages : iterable of str, or callable of the parameters returning one
        Distributions that the algorithm imports when it runs, beyond those that greedyexp requires.
        An experiment is refused if one is missing, and rows are computed again when a version
        changes. A callable may raise ``ConfigError``.
    prepare : callable of the parameters, optional
        Imports and compiles what the algorithm uses. It is called once in each process before the
        first fit, so that this time does not count as that of a fit.
    """

    requires: Traits = ()
    check: Callable[..., None] | None = None
    theory: Callable[..., Any] | None = None
    theory_requires: Iterable[str] = ("noise_std",)
    yields: str = "estimates"
    guarantee: Callable[..., Any] | None = None
    prediction: Callable[..., float | None] | None = None
    takes_sparse: bool = False
    takes_population: bool = False
    theorems: Callable[..., Any] | None = None
    stops: Iterable[str] = ()
    packages: Iterable[str] | Callable[..., Iterable[str]] = ()
    prepare: Callable[..., None] | None = None

    kind = "algorithm"
    package = "greedyexp.algorithms"
    positional = ("problem",)
    supplied = ("grid", "rng", "end", "n_jobs")
    reserved_keys = ("label", "tuning", "folds", "sweep")
    sequences = ("theory_requires", "stops")

    @cached_property
    def takes_grid(self) -> bool:
        """True if the algorithm returns a path and takes its grid as an argument."""
        return self.yields == "estimates" and "grid" in self.takes

    @cached_property
    def takes_rng(self) -> bool:
        """True if the algorithm draws at random."""
        return "rng" in self.takes

    @cached_property
    def takes(self) -> tuple[str, ...]:
        """Those of ``supplied`` that the algorithm has."""
        arguments = inspect.signature(self.function).parameters
        return tuple(name for name in self.supplied if name in arguments)

    @property
    def fixed_requirements(self) -> tuple[str, ...]:
        return () if callable(self.requires) else tuple(self.requires)

    def requirements_of(self, params: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(self.requires(**params)) if callable(self.requires) else ()

    def packages_of(self, params: Mapping[str, Any]) -> dict[str, str]:
        """Versions of the packages that the algorithm uses with these parameters.

        Raises
        ------
        ConfigError
            If one of them is not installed.
        """
        names = self.packages(**params) if callable(self.packages) else self.packages
        return versions(names, f"algorithm '{self.name}'")

    def properties(self) -> list[tuple[str, str]]:
        needed = () if callable(self.packages) else self.packages
        return [
            *super().properties(),
            ("needs", ", ".join(needed)),
            ("makes", YIELDS[self.yields]),
            ("tuning", "along a grid of its own" if self.takes_grid else "none"),
        ]

    def check_declaration(self) -> None:
        if self.yields not in YIELDS:
            self._refuse(f"must have 'yields' set to one of {', '.join(YIELDS)}")
        super().check_declaration()


@dataclass(frozen=True, eq=False)
class Protocol(Part):
    """Register ``function(problem, part, params, setup, *, parameters) -> Outcome`` as a protocol.

    ``part`` is the algorithm to evaluate and ``params`` are its parameters. ``setup``
    (``protocols.base.Setup``) has tuning, folds, metrics, the random stream and the clock. A
    protocol that times fits by that clock gives ``Outcome.fit_seconds`` and lists
    ``protocols.base.FIT_SECONDS`` among its columns.

    Parameters
    ----------
    name : str
        Name in YAML files.
    title : str
        Name in figures and tables; default: ``name``.
    paper : str
        Source: paper and section.
    takes : {"estimates", "iterates", "constant"}
        Kind of value that algorithms must yield to be evaluated.
    columns : callable
        ``columns(metrics, **parameters)`` returns a ``protocols.base.Measured`` for every
        column that rows may have. It raises ``ValueError`` if parameters are impossible together.
    records : iterable of RecordKind
        The kinds of rows that the protocol can write, if there are several: one for each value of
        the column ``record``.
    metrics : bool
        True if the protocol computes metrics. If so, an experiment must list at least one metric;
        otherwise it must not list any.
    tunes : bool
        True if the protocol chooses a point of an algorithm's path by the experiment's ``tuning``.
    check : callable, optional
        ``check(algorithm_parameters, **parameters)`` raises ``ValueError`` if an algorithm with
        these parameters cannot give the results that the protocol needs.
    needs : callable of the parameters returning an iterable of str, optional
        Traits that a problem must have.
    needs_for : callable, optional
        ``needs_for(algorithm_parameters, **parameters)`` returns additional traits that a problem
        must have if an algorithm with these parameters is evaluated.
    """

    # ``takes`` and ``columns`` are mandatory: ``check_declaration`` rejects the defaults.
    takes: str = ""
    columns: Callable[..., Iterable[Any]] = tuple
    records: Iterable[RecordKind] = ()
    metrics: bool = False
    tunes: bool = True
    check: Callable[..., None] | None = None
    needs: Callable[..., Iterable[str]] | None = None
    needs_for: Callable[..., Iterable[str]] | None = None

    kind = "protocol"
    package = "greedyexp.protocols"
    positional = ("problem", "part", "params", "setup")
    sequences = ("records",)

    def requirements_of(self, params: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(self.needs(**params)) if self.needs else ()

    def properties(self) -> list[tuple[str, str]]:
        return [
            *super().properties(),
            ("takes", YIELDS[self.takes]),
            ("metrics", "at least one" if self.metrics else "none"),
        ]

    def check_declaration(self) -> None:
        if self.takes not in YIELDS:
            self._refuse(f"must have 'takes' set to one of {', '.join(YIELDS)}")
        if self.columns is tuple:
            self._refuse("must have 'columns' set to a function")
        super().check_declaration()


@dataclass(frozen=True, eq=False)
class Metric(Part):
    """Register ``function(problem, coef) -> array (...)`` as a metric.

    ``coef`` has shape (..., p, r): the metric is computed for every estimate of a path at once. An
    experiment lists a metric by its name alone; its keyword-only arguments need defaults. A metric
    with ``of="path"`` is ``function(problem, path) -> array (m,)``. It may use everything else that
    a path records, such as the objective, dense coefficients or the loss.

    Parameters
    ----------
    name : str
        Name in YAML files and of the column.
    title : str
        Name in figures and tables; default: ``name``.
    paper : str
        Source: paper and section.
    better : {"higher", "lower", None}
        Direction of improvement; None for a description, such as a support size.
    binary : bool
        True if values are 0 (failure) and 1 (success).
    requires : iterable of str
        Traits that a problem must have.
    of : {"coef", "path"}
        Argument of the function.
    text : bool
        True if values are texts. They have no direction and cannot be successes.
    predicts : bool
        True if predictions are compared with responses. Losses of labels, whose predictions are
        scores, are then refused.
    share_of_rows : bool
        True if the value is the mean over test rows of a loss in [0, 1], such as the share of rows
        that are misclassified. Intervals over splits of one data set use it (``stats.row_shares``).
    """

    # ``better`` is mandatory: ``check_declaration`` rejects the default.
    better: str | None = ""
    binary: bool = False
    requires: Iterable[str] = ()
    of: str = "coef"
    text: bool = False
    predicts: bool = False
    share_of_rows: bool = False

    kind = "metric"
    package = "greedyexp.metrics"
    positional = ("problem", "coef")

    @property
    def fixed_requirements(self) -> tuple[str, ...]:
        return tuple(self.requires)

    def properties(self) -> list[tuple[str, str]]:
        share = [("share of", "test rows")] if self.share_of_rows else []
        return [*super().properties(), ("better", self.better or "neither"), *share]

    def check_declaration(self) -> None:
        if self.of not in ("coef", "path"):
            self._refuse("must have 'of' set to 'coef' or 'path'")
        if self.better not in ("higher", "lower", None):
            self._refuse("must have 'better' set to 'higher', 'lower' or None")
        if self.text and (self.binary or self.better is not None):
            self._refuse("returns texts, which cannot be successes and have no direction")
        if self.share_of_rows and "test_rows" not in self.requires:
            self._refuse("is a share of test rows, so it must require 'test_rows'")
        for argument in inspect.signature(self.function).parameters.values():
            if argument.kind is argument.KEYWORD_ONLY and argument.default is argument.empty:
                self._refuse(
                    f"needs a value for '{argument.name}', but experiment files cannot set"
                    " parameters of metrics",
                    "Give it a default.",
                )
        super().check_declaration()


@dataclass(frozen=True, eq=False)
class LossKind(Part):
    """Register ``function(problem, *, ridge, intercept) -> losses.loss.Loss`` as a loss.

    The function binds the loss to the data of a problem. Algorithms with a parameter ``loss`` take
    every registered loss that offers what they need.

    Parameters
    ----------
    name : str
        Name in YAML files.
    title : str
        Name in figures and tables; default: ``name``.
    paper : str
        Source: paper and number of the equation or section.
    requires : iterable of str
        Traits that a problem must have, such as ``two_values`` or ``counts``.
    intercept : bool
        Whether the loss can have an intercept.
    ridge : bool
        Whether the loss can have a ridge.
    per_class : bool
        Whether tasks are classes, and every feature has one coefficient per class. Other losses
        take a single task.
    smoothed : bool
        Whether the loss is not smooth by itself. The function then takes ``beta``, the smoothness,
        instead of ``intercept``.
    least_squares : bool
        Whether the loss is the mean squared error.
    has_kernel : bool
        Whether ``kernels.scalar_losses`` has the functions of the loss, as methods on an l1 ball
        need.
    expected : callable, optional
        ``expected(predictions)`` returns the expected responses, in the same shape: means of
        counts, or probabilities of classes. Without it, predictions are responses, or scores of
        classes that tell no probabilities.
    """

    requires: Iterable[str] = ()
    intercept: bool = True
    ridge: bool = True
    per_class: bool = False
    smoothed: bool = False
    least_squares: bool = False
    has_kernel: bool = False
    expected: Callable[[np.ndarray], np.ndarray] | None = None

    kind = "loss"
    package = "greedyexp.losses"
    positional = ("problem",)
    supplied = ("ridge", "intercept", "beta")
    sequences = ("requires",)

    @property
    def fixed_requirements(self) -> tuple[str, ...]:
        return tuple(self.requires)

    @property
    def form(self) -> str:
        """What methods may need of the loss."""
        kernel = ", with a kernel" if self.has_kernel else ""
        return f"{'not smooth' if self.smoothed else 'smooth'}{kernel}"

    def properties(self) -> list[tuple[str, str]]:
        return [*super().properties(), ("form", self.form)]

    def check_declaration(self) -> None:
        super().check_declaration()
        if self.has_kernel and not self.shipped:
            self._refuse("cannot have a kernel of greedyexp", "Leave has_kernel out.")
        if self.smoothed and self.intercept:
            self._refuse("is smoothed, so it cannot have an intercept", "Give intercept=False.")
        expected = {"ridge", "beta" if self.smoothed else "intercept"}
        arguments = set(inspect.signature(self.function).parameters) - {"problem"}
        if arguments != expected:
            self._refuse(
                f"must take the arguments {', '.join(sorted(expected))} and no others",
                f"Write def {self.name}(problem, *, {', '.join(sorted(expected, reverse=True))}).",
            )

    def refusal(self, *, n_tasks: int, intercept: bool, ridge: float = 0.0) -> UserError | None:
        """Return the error if the loss does not accept these options, otherwise None."""
        if intercept and not self.intercept:
            return ConfigError(
                f"the {self.name} loss has no intercept.", remedy="Leave intercept out."
            )
        if ridge and not self.ridge:
            return ConfigError(f"the {self.name} loss has no ridge.", remedy="Leave ridge out.")
        if n_tasks > 1 and not self.per_class:
            return DataError(
                f"the {self.name} loss takes one response, but the data have {n_tasks}.",
                remedy="Select one of them.",
            )
        return None


@dataclass(frozen=True, eq=False)
class Display(Part):
    """A figure or a table: a function of the tidy table and its context.

    Parameters
    ----------
    name : str
        Name in YAML files.
    title : str
        Printed title; default: ``name``.
    paper : str
        Source: paper and number of the figure or table.
    columns : callable of the parameters, optional
        Returns the columns of the CSV that are read. A column that the experiment will not have is
        an error before any work starts.
    apart : callable of the parameters, optional
        Returns all columns that distinguish points, lines and panels (rows and columns of a table),
        including ``algorithm`` if they differ by algorithm. Results of the run are not allowed.
        Averages are over replicates only: another column that varies becomes ``panel``, ``row`` or
        the second entry of ``line`` if the function has these parameters and they are not in use;
        otherwise it is an error. Without ``apart`` nothing is checked. A parameter ``where``, a
        mapping of columns to values, chooses rows: the frame of a plugin has these alone.
    by_algorithm : str, optional
        A parameter that is a list of algorithms, or a mapping with algorithms as keys. An algorithm
        that the experiment does not have is an error before any work starts.
    """

    columns: Callable[..., Iterable[str]] | None = None
    apart: Callable[..., Iterable[str]] | None = None
    by_algorithm: str | None = None

    positional = ("frame", "context")


@dataclass(frozen=True, eq=False)
class Figure(Display):
    """Register ``function(frame, context, *, parameters) -> matplotlib Figure`` as a figure.

    ``frame`` is the tidy table (``fit_seconds`` included) and ``context`` a
    ``greedyexp.results.context.Context``. The figure is saved as PNG and PDF in the style of
    greedyexp. ``Display`` describes the arguments. In experiment files, every figure also takes a
    ``title``, which is drawn, and a ``caption``, which is stored with the files.
    """

    kind = "figure"
    package = "greedyexp.figures"
    reserved_keys = ("title", "caption")


@dataclass(frozen=True, eq=False)
class Table(Display):
    """Register ``function(frame, context, *, parameters) -> DataFrame`` as a table.

    The returned DataFrame has the cells to print. Its ``attrs["notes"]`` may be a list of sentences
    for the caption, and ``attrs["title"]`` replaces ``title``. ``Display`` describes the arguments.
    """

    kind = "table"
    package = "greedyexp.tables"


KINDS: dict[str, type[Part]] = {
    one.kind: one for one in (Generator, Algorithm, LossKind, Protocol, Metric, Figure, Table)
}
