"""The result of ``greedyexp.solve``."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from greedyexp.core.errors import ConfigError, DataError
from greedyexp.core.listing import listed, more
from greedyexp.estimates.profiles import Profiles
from greedyexp.estimates.sparse import SparseEstimates
from greedyexp.problems.chains import chain_weights
from greedyexp.problems.frames import from_frame, is_frame
from greedyexp.problems.problem import as_matrix, is_list_of_designs

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# Rows of coefficients that a printed solution shows.
_SHOWN = 10


@dataclass(frozen=True, repr=False)
class Solution:
    """A fitted estimate and the path that leads to it.

    Parameters
    ----------
    estimate : SparseEstimates
        The estimate alone.
    objective : float
        Minimised function at ``coef``; nan for an algorithm that returns only coefficients.
    columns : dict of str to array
        Columns of ``history``.
    converged : bool
        True if the estimate meets the certificate of the algorithm.
    message : str
        Remarks for the user; may be empty.
    dense : array (q,)
        Coefficients of the loss that every model has: the intercept, or r intercepts of r tasks, if
        any; for chains of r classes the weights of first labels (r), of last labels (r) and of
        transitions (r r, row by row); for pairs of v variables the diagonal of ``precision`` (v).
    classes : tuple of str
        Labels of chains, in the order of the columns of ``coef``; empty for other data.
    feature_names : tuple of p str
        Names of the columns of a DataFrame; empty for other data.
    profiles : Profiles, optional
        Coefficients along the path; None for iterative methods.
    paired : bool
        Whether the features are the pairs of variables, so that the estimate is a graph.
    """

    estimate: SparseEstimates
    objective: float
    columns: dict[str, np.ndarray]
    converged: bool
    message: str
    dense: np.ndarray = field(default_factory=lambda: np.zeros(0))
    classes: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()
    profiles: Profiles | None = None
    paired: bool = False

    @cached_property
    def coef(self) -> np.ndarray:
        """The estimate, (p,) for one task, (p, r) for r tasks.

        Raises
        ------
        DataError
            If there is not enough memory; see ``sparse_coef``.
        """
        dense = self.estimate.dense()[0]
        return dense[:, 0] if dense.shape[1] == 1 else dense

    @property
    def sparse_coef(self) -> scipy.sparse.csr_array:
        """The estimate as a sparse array (p, r)."""
        return self.estimate.matrix(0)

    @property
    def support(self) -> np.ndarray:
        """Indices of selected coefficients, which may be zero by chance.

        They are an array (k,) for one task, (k, 2) of feature and task for several.
        """
        entries, r = self.estimate.entries, self.estimate.shape[1]
        return entries if r == 1 else np.stack(np.divmod(entries, r), axis=1)

    @cached_property
    def history(self) -> pd.DataFrame:
        """The path as a table.

        It has one row for each point: its tuning values, ``support_size``, ``objective``,
        ``converged``, ``chosen`` (True for the point of ``coef``) and further columns of the
        algorithm, such as ``gap`` of ``forward_greedy``. Algorithms that report steps, such as
        ``foba_gdt``, have one row for each step; iterative methods have ``iteration``,
        ``objective`` and ``support_size`` for each recorded iteration.
        """
        # The import and the table take longer than a small fit.
        import pandas as pd

        return pd.DataFrame(self.columns)

    @property
    def intercept(self) -> float | np.ndarray:
        """The intercept, (r,) for r tasks; 0 for models without an intercept."""
        if self.classes or self.paired or not len(self.dense):
            return 0.0
        return float(self.dense[0]) if self.estimate.shape[1] == 1 else self.dense

    @property
    def transitions(self) -> np.ndarray | None:
        """Weights (r, r) of transitions between the classes of a chain; None without chains."""
        return chain_weights(self.dense, len(self.classes)).transition if self.classes else None

    @property
    def precision(self) -> np.ndarray | None:
        """The inverse covariance matrix (v, v) of v variables; None without a graph."""
        if not self.paired:
            return None
        matrix = np.diag(self.dense / 2)
        matrix[np.triu_indices(len(matrix), 1)] = self.coef
        return matrix + matrix.T

    @property
    def selected(self) -> list[str]:
        """Names of the selected features; their numbers if they have no names."""
        return [self._name(feature) for feature in self._features]

    def predict(self, X: Any) -> np.ndarray | list[np.ndarray]:
        """Return X coef + intercept.

        For losses of labels these are scores, whose sign or order decides, and for counts the
        logarithms of means.

        Parameters
        ----------
        X : array, sparse array or DataFrame (n, p), or list of r arrays (n_j, p)
            A DataFrame must have the columns of the fit, in the same order.

        Returns
        -------
        array (n,) for one task, (n, r) for r tasks; list of r arrays (n_j,) for a list

        Raises
        ------
        ConfigError
            If the solution is a model of chains or a graph.
        DataError
            If X has other features, or does not contain finite numbers only.
        """
        if self.classes:
            raise ConfigError("a model of chains labels whole chains, not single words.")
        if self.paired:
            raise ConfigError("a graph of variables predicts no response.")
        if not is_list_of_designs(X):
            return self._design(X, "X") @ self.coef + self.intercept
        tasks = self.coef.reshape(len(self.coef), -1).T
        if len(X) != len(tasks):
            raise DataError(f"X has {len(X)} tasks but the solution has {len(tasks)}.")
        intercepts = np.broadcast_to(self.intercept, len(tasks))
        return [
            self._design(design, f"X[{j}]") @ tasks[j] + intercepts[j] for j, design in enumerate(X)
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the coefficients along the path, or the objective of an iterative method.

        Parameters
        ----------
        ax : Axes of matplotlib, optional
            Where to draw; by default in a new figure of pyplot.

        Returns
        -------
        Axes
        """
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(layout="constrained")[1]
        if self.profiles is not None:
            self.profiles.draw(ax, self._label)
            return ax
        ax.plot(self.columns["iteration"], self.columns["objective"], marker=".")
        ax.set_xscale("symlog", linthresh=1.0)
        ax.set_xlabel("iteration")
        ax.set_ylabel("objective")
        return ax

    def __repr__(self) -> str:
        names, rows, rest = self._table()
        widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
        lines = [self._summary]
        for row in ([names] if any(names) else []) + rows:
            cells = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
            lines.append("  " + "  ".join([row[0].ljust(widths[0]), *cells]))
        return "\n".join(filter(None, [*lines, rest and f"  {rest}", self.message]))

    def _repr_html_(self) -> str:
        names, rows, rest = self._table()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join(
            f"<tr><th>{html.escape(row[0])}</th>"
            + "".join(f"<td>{cell}</td>" for cell in row[1:])
            + "</tr>"
            for row in rows
        )
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in (rest, self.message) if note)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"<p>{html.escape(self._summary)}</p>{table if rows else ''}{notes}"

    @property
    def _summary(self) -> str:
        """One line: how many features, the objective and whether it is certified."""
        state = "converged" if self.converged else "not converged"
        count, p = len(self._features), self.estimate.shape[0]
        return f"Solution: {count} of {p} features, objective {self.objective:.6g}, {state}"

    def _table(self) -> tuple[list[str], list[list[str]], str]:
        """Return the heading and the rows of the coefficients, and what is left out."""
        r = self.estimate.shape[1]
        titles = [""] if r == 1 else list(self.classes) or [f"task {j}" for j in range(r)]
        shown = self._features[:_SHOWN]
        values = self.sparse_coef[shown].toarray()
        rows = [
            [self._name(i), *(f"{value:.6g}" for value in row)]
            for i, row in zip(shown, values, strict=True)
        ]
        if not self.classes and not self.paired and len(self.dense):
            rows.append(["intercept", *(f"{value:.6g}" for value in np.atleast_1d(self.intercept))])
        return ["", *titles], rows, more(len(self._features) - len(shown))

    @property
    def _features(self) -> np.ndarray:
        """Features with a selected coefficient in any task."""
        return self.estimate.rows()[1]

    def _name(self, feature: int) -> str:
        return self.feature_names[feature] if self.feature_names else str(feature)

    def _label(self, feature: int, task: int) -> str:
        """Return the label of a coefficient in a picture."""
        if self.estimate.shape[1] == 1:
            return self._name(feature)
        return f"{self._name(feature)}, {self.classes[task] if self.classes else f'task {task}'}"

    def _design(self, X: Any, what: str) -> np.ndarray:
        """Return a design with the features of the fit."""
        if is_frame(X):
            X, names = from_frame(X, what)
            if self.feature_names and names != self.feature_names:
                raise DataError(
                    f"the columns of {what} are not those of the fit.",
                    remedy=f"Give them in this order: {listed(self.feature_names, _SHOWN)}.",
                )
        design = as_matrix(X, what)
        p = self.estimate.shape[0]
        if design.shape[1] != p:
            raise DataError(f"{what} has {design.shape[1]} features but the fit has {p}.")
        return design
