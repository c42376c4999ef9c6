"""Parts for the tests of experiment files, registered only while a test runs."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
import yaml
from kept_registry import kept_registry
from pydantic import Field

from greedyexp.config import load
from greedyexp.core import registry
from greedyexp.core.errors import UserError


def _check(*, p, s, kappa, theta, values, noise_std):
    if s > p:
        raise ValueError("s must be at most p")
    if theta * s < 1:
        raise ValueError("theta gives n = 0 samples")


def _register():
    @registry.generator(
        "t_overlap",
        provides=lambda *, noise_std, **_: (
            {"truth", "multi_task"} | ({"noise_std"} if noise_std > 0 else set())
        ),
        check=_check,
    )
    def t_overlap(
        rng,
        *,
        p: Annotated[int, Field(ge=2, description="Features.")],
        s: Annotated[int, Field(ge=1)] = 4,
        kappa: Annotated[float, Field(ge=0, le=1, description="Shared rows.")] = 1,
        theta: Annotated[float, Field(gt=0)] = 1.0,
        values: Literal["sign", "gaussian"] = "sign",
        noise_std: Annotated[float, Field(ge=0)] = 0.1,
    ):
        """Two tasks that share rows."""

    @registry.generator("t_file", provides=("test_rows",))
    def t_file(rng, *, name: str, exponents: list[float] | None = None):
        """One task from a file."""

    @registry.algorithm("t_path", requires=("multi_task",), theory=lambda problem, **_: {})
    def t_path(
        problem,
        *,
        w: Annotated[list[Annotated[float, Field(gt=1, lt=2)]], Field(min_length=1)] = (1.5,),
        nu: Annotated[float, Field(gt=0, lt=1, description="Backward fraction.")] = 0.5,
        stack: Literal["single", "class"] = "single",
        max_steps: Annotated[int, Field(ge=1)] | None = None,
        grid=None,
    ):
        """Greedy path."""

    @registry.algorithm("t_lasso")
    def t_lasso(problem, *, tolerance: Annotated[float, Field(gt=0)] = 1e-7, grid=None):
        """Convex path."""

    @registry.algorithm("t_single")
    def t_single(problem, *, k: Annotated[int, Field(ge=1)]):
        """One estimate."""

    @registry.algorithm("t_odd", requires=("groups",))
    def t_odd(problem):
        """Needs what no generator has."""

    @registry.metric("t_signs", better="higher", requires=("truth",))
    def t_signs(problem, coef):
        """Signs."""

    @registry.metric("t_size", better=None)
    def t_size(problem, coef):
        """Size."""

    @registry.figure("t_curve", columns=lambda *, x, **_: [x])
    def t_curve(frame, context, *, x: str, logx: bool = False, line: list[str] | str = "algorithm"):
        """A curve."""


@pytest.fixture(autouse=True)
def registered():
    """The parts above, added to the registry for one test."""
    with kept_registry():
        _register()
        yield


BASE = """\
name: trial_run
paper: {key: jalali2012, figure: Figure 1}
seed: 7
data:
  generator: t_overlap
  noise_std: 0.1
  sweep:
    p: [64, 128]
    kappa: [0.8, 0.3]
    theta: {from: 0.4, to: 1.2, step: 0.2}
trials: 3
algorithms:
  - t_path: {w: [1.05, 1.5], tuning: oracle}
  - t_lasso
metrics: [t_signs, t_size]
figures:
  - t_curve: {x: theta, line: [algorithm, p]}
profiles:
  smoke: {trials: 2, data: {sweep: {theta: [0.6, 1.2]}}}
  paper: {}
"""


def base(**changes) -> dict:
    """The settings above with some replaced; None removes one."""
    settings = yaml.safe_load(BASE) | changes
    return {key: value for key, value in settings.items() if value is not None}


def message(source, **options) -> str:
    """What a user reads when the experiment is refused."""
    with pytest.raises(UserError) as caught:
        load(source, **options)
    assert caught.value.exit_code == 2
    return str(caught.value)
