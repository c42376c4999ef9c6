"""``check_algorithm``, and a decorator that makes one test of each check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.experiment.parameters import Parameters
from greedyexp.testing.checks import CHECKS
from greedyexp.testing.data import refuse_unknown
from greedyexp.testing.trial import Refused, Trial, registered


def check_algorithm(
    algorithm: Callable[..., Any] | str,
    *,
    traits: Iterable[str] = (),
    expected_failures: Mapping[str, str] | None = None,
    **params: Any,
) -> None:
    """Check that an algorithm does what greedyexp asks of algorithms, on small data.

    Parameters
    ----------
    algorithm : callable or str
        A function with the decorator ``algorithm``, or the name of a registered algorithm.
    traits : iterable of str, optional
        Traits of the data, such as ``labels``, beyond those that the algorithm requires.
    expected_failures : dict of str to str, optional
        Names of checks that are left out, each with the reason.
    **params
        Values of parameters; the others have their defaults.

    Raises
    ------
    BrokenContract
        For the first check that fails. It is an ``AssertionError`` whose sentence names the check,
        what the algorithm was given, and what it did.
    ConfigError, PluginError
        If the function is not registered, a trait, a parameter or the name of a check is unknown,
        or a default contradicts its type.
    """
    for check, reason in _checks(algorithm, traits, expected_failures, params):
        if reason is None:
            check()


def parametrize_with_checks(
    algorithm: Callable[..., Any] | str,
    *,
    traits: Iterable[str] = (),
    expected_failures: Mapping[str, str] | None = None,
    **params: Any,
) -> Any:
    """Return a decorator of pytest that runs a test for each check.

    The test has the argument ``check``, which it calls::

        @parametrize_with_checks(screening, keep=4)
        def test_contract(check):
            check()

    Parameters
    ----------
    algorithm, traits, expected_failures, **params
        As for ``check_algorithm``. Expected failures are marked ``xfail``.

    Raises
    ------
    ConfigError, PluginError
        As for ``check_algorithm``.
    """
    import pytest

    cases = []
    for check, reason in _checks(algorithm, traits, expected_failures, params):
        marks = [] if reason is None else [pytest.mark.xfail(reason=reason)]
        cases.append(pytest.param(check, id=check.name, marks=marks))
    return pytest.mark.parametrize("check", cases)


class _Bound:
    """A check of one algorithm, which is made when it is called."""

    def __init__(self, name: str, *trial: Any):
        self.name = name
        self._trial = Trial(name, *trial)

    def __call__(self) -> None:
        check = CHECKS[self.name]
        try:
            if check.concerns(self._trial.part):
                check.function(self._trial)
        except Refused as error:
            if not check.may_refuse:
                sentence = str(error).rstrip(".")
                raise self._trial.broken(None, f"refused ordinary data: {sentence}") from error


def _checks(
    algorithm: Callable[..., Any] | str,
    traits: Iterable[str],
    expected_failures: Mapping[str, str] | None,
    params: Mapping[str, Any],
) -> list[tuple[_Bound, str | None]]:
    """Return all checks of an algorithm, those that are expected to fail with the reason."""
    part, reasons = registered("algorithm", algorithm), expected_failures or {}
    for name in reasons:
        if name not in CHECKS:
            raise ConfigError(
                f"there is no check named '{name}'.", remedy=did_you_mean(name, CHECKS)
            )
    values = Parameters(part).read_all(params)
    part.packages_of(values)
    needs = frozenset((*part.fixed_requirements, *part.requirements_of(values), *traits))
    refuse_unknown(needs)
    return [(_Bound(name, part, values, needs), reasons.get(name)) for name in CHECKS]
