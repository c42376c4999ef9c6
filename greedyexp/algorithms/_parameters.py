"""Parameters that several algorithms share: their types, ranges and help, and common checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field
from pydantic_core import PydanticKnownError, core_schema

from greedyexp.core.errors import ConfigError
from greedyexp.losses import binding as losses
from greedyexp.losses.binding import MOST_RIDGE, Suits, kind_of
from greedyexp.problems.problem import Problem
from greedyexp.problems.radius import LARGEST_RADIUS, SMALLEST_RADIUS

# Paths of penalised least squares.
_Positive = Annotated[float, Field(gt=0)]
Lams = Annotated[
    _Positive | Annotated[list[_Positive], Field(min_length=1)] | None,
    Field(description="explicit value or values of lam instead of the automatic grid"),
]
NLams = Annotated[int, Field(ge=1, description="number of points of the automatic grid")]
LamMinRatio = Annotated[
    float, Field(gt=0, lt=1, description="smallest over largest lam of the automatic grid")
]
MaxSupport = Annotated[
    int | None,
    Field(ge=1, description="end the automatic path after a point with more nonzero entries"),
]
Tol = Annotated[
    float, Field(gt=0, lt=1, description="duality gap to reach, relative to the null objective")
]
MaxSweeps = Annotated[int, Field(ge=1, description="maximum number of update rounds per point")]

# Iterative methods on least squares.
Lam = Annotated[float, Field(ge=0, description="weight of the l1 norm; 0 gives least squares")]
InnerIterations = Annotated[int, Field(ge=1, description="rounds of the first inner loop")]
InnerGrowth = Annotated[
    float, Field(ge=1, description="growth factor of the rounds from one iteration to the next")
]
MaxInnerIterations = Annotated[
    int, Field(ge=1, description="maximum number of rounds of an inner loop")
]
InnerBudget = Annotated[
    Literal["geometric", "published"],
    Field(description="rounds of the inner loops: by inner_growth, or those of the paper's script"),
]
InnerSmoothing = Annotated[
    float | None,
    Field(gt=0, description="constant added to squares; by default it falls with the rounds"),
]


class _NameOfLoss:
    """Mark a text as the name of a registered loss that suits an algorithm."""

    def __init__(self, suits: Suits):
        self._suits = suits

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"type": "string", "enum": losses.names(self._suits)}

    def _checked(self, name: str) -> str:
        try:
            losses.kind_of(name, self._suits)
        except ConfigError:
            *others, last = (f"'{other}'" for other in losses.names(self._suits))
            expected = f"{', '.join(others)} or {last}"
            raise PydanticKnownError("literal_error", {"expected": expected}) from None
        return name


# Losses of greedy selections.
LossName = Annotated[
    str,
    _NameOfLoss(losses.is_smooth),
    Field(
        description="loss to minimise, a mean over samples; crf is for chains of words,"
        " logdet for graphs"
    ),
]
Ridge = Annotated[
    float, Field(ge=0, le=MOST_RIDGE, description="ridge / 2 times the squared norm is added")
]
Intercept = Annotated[
    bool, Field(description="fit an intercept, in every model and without a ridge")
]

# Greedy selections.
Judged = Annotated[
    Literal["coordinate", "refit"],
    Field(description="score a feature by its coefficient alone, or with all of them refitted"),
]
MaxFeatures = Annotated[
    int | None,
    Field(
        ge=1,
        description="maximum number of features; default min(n, d) / 2 if there is no other limit",
    ),
]
MaxGroups = Annotated[
    int | None, Field(ge=1, description="maximum number of rows of coefficients (sensors) in use")
]
Delta = Annotated[
    float | None, Field(ge=0, description="end when no feature gains this much by itself")
]
Epsilon = Annotated[
    float | None, Field(ge=0, description="end when all derivatives are smaller than this")
]
BackwardRatio = Annotated[
    float,
    Field(
        gt=0,
        le=1,
        description="drop a feature that costs less than this fraction of the recorded decrease",
    ),
]
Visit = Annotated[
    Literal["last", "first"],
    Field(
        description="estimate of a size: the last, best state that the run visits with it, or the"
        " first one"
    ),
]
Beyond = Annotated[
    int | None,
    Field(
        ge=0,
        description="how many features, or groups, a run with visit 'last' goes beyond the maximum;"
        " default: as many again",
    ),
]
Prune = Annotated[
    bool,
    Field(description="skip features that, according to a bound, do not have the largest gain"),
]
StopRule = Annotated[
    Literal["optimum", "theorem"],
    Field(
        description="threshold of tuning by theory: from the fit on the true support or a theorem"
    ),
]
Unit = Annotated[
    Literal["feature", "group"], Field(description="a step adds one coefficient or one row")
]

# Algorithms that trade accuracy for sparsity.
_RISK = Field(description="loss whose mean is minimised; beta smooths one with a kink")
RiskLoss = Annotated[str, _NameOfLoss(losses.has_risk), _RISK]
BallLoss = Annotated[str, _NameOfLoss(losses.has_kernel), _RISK]
KinkedLoss = Annotated[
    str,
    _NameOfLoss(losses.needs_smoothing),
    Field(description="loss whose mean is minimised"),
]
Beta = Annotated[
    float | None,
    Field(gt=0, description="smoothness of the smoothed loss; required for a loss with a kink"),
]
OptionalBeta = Annotated[
    float | None,
    Field(gt=0, description="smoothness of a loss with a kink; default: not smoothed"),
]
Risk = Annotated[
    Literal["sample", "population"],
    Field(description="mean over the rows, or exact expectation from moments (squared loss)"),
]
Radius = Annotated[
    float | None,
    Field(
        ge=SMALLEST_RADIUS,
        le=LARGEST_RADIUS,
        description="B1, the l1 norm allowed; by default that of the true coefficients",
    ),
]
Steps = Annotated[int, Field(ge=1, description="maximum number of steps")]
Accuracy = Annotated[
    float, Field(ge=0, description="end when the duality gap certifies this accuracy")
]
StepLength = Annotated[
    Literal["paper", "line_search"],
    Field(
        description="gap / (4 beta B1^2), at most 1, or the minimum of the risk along the direction"
    ),
]
Selection = Annotated[
    Literal["objective", "gradient", "residual"],
    Field(
        description="take the feature that lowers the risk most, has the largest derivative, or"
        " the largest correlation"
    ),
]
# Of the adapters of other packages.
MaxIter = Annotated[int, Field(ge=1, description="maximum number of iterations of the package")]
Atoms = Annotated[
    int | None,
    Field(ge=1, description="maximum number of features per task; default min(n, p) / 2"),
]


def enforce(check: Callable[..., None], problem: Problem, **parameters) -> None:
    """Apply the registered check of an algorithm to a problem.

    Raises
    ------
    ConfigError
        If the check raises ValueError.
    """
    try:
        check(problem.shape, **parameters)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def check_max_support(shape: dict, *, max_support: int | None, **_) -> None:
    """Raise ValueError if max_support exceeds p r, the number of coefficients."""
    if max_support is not None and max_support > shape["n_features"] * shape["n_tasks"]:
        raise ValueError(
            f"max_support = {max_support} is more than the number of coefficients,"
            f" {shape['n_features'] * shape['n_tasks']}."
        )


def needs(*, loss: str, **_) -> tuple[str, ...]:
    """Return the traits that the loss requires of the data: rows if nothing else."""
    required = kind_of(loss).fixed_requirements
    return required if "covariance" in required else (*required, "rows")


def check_loss(
    shape: dict,
    *,
    loss: str,
    intercept: bool,
    max_features: int | None,
    max_groups: int | None,
    ridge: float = 0.0,
    **_,
) -> None:
    """Raise ValueError if the loss or a limit is impossible for data of this shape."""
    rows, classes = shape["n_features"], coefficients_per_row(shape, loss)
    refusal = kind_of(loss).refusal(n_tasks=shape["n_tasks"], intercept=intercept, ridge=ridge)
    if refusal is not None:
        raise ValueError(refusal.message)
    if max_groups is not None and max_groups > rows:
        raise ValueError(
            f"max_groups = {max_groups} is more than the {rows} rows of coefficients. Give at most"
            f" {rows}."
        )
    if max_features is not None and max_features > rows * classes:
        count = f"{rows * classes} features"
        count += f", {rows} for each of {classes} classes" if classes > 1 else ""
        raise ValueError(
            f"max_features = {max_features} is more than the {count}. Give at most"
            f" {rows * classes}."
        )


def coefficients_per_row(shape: dict, loss: str) -> int:
    """Return r, the number of coefficients of one feature in data of this shape."""
    return shape["n_tasks"] if kind_of(loss).per_class else 1


def as_numbers(values: float | Sequence[float] | np.ndarray) -> np.ndarray:
    """Return one or several numbers as a float array (m,)."""
    return np.atleast_1d(np.asarray(values, dtype=float))


def grid_values(grid: dict[str, np.ndarray], name: str, *, whole: bool = False) -> np.ndarray:
    """Return the values (m,) of one parameter of a grid: at least one, finite and not negative.

    Parameters
    ----------
    whole : bool
        Whether the values must be whole numbers.

    Raises
    ------
    ConfigError
        If there are no values, or a value is invalid.
    """
    try:
        values = as_numbers(grid[name])
    except (TypeError, ValueError):
        values = np.zeros(0)
    valid = values.ndim == 1 and values.size and (np.isfinite(values) & (values >= 0)).all()
    if not valid or (whole and (values % 1 != 0).any()):
        raise ConfigError(f"the grid of {name} must hold {'whole ' * whole}numbers >= 0.")
    return values
