"""The rule by which the number of replicates depends on the results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from greedyexp.config.algorithms import names_of
from greedyexp.config.data import Data
from greedyexp.config.document import Node
from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.registry import find
from greedyexp.experiment.design import DATA_COLUMN
from greedyexp.experiment.model import AlgorithmSpec, PartSpec
from greedyexp.experiment.parameters import is_number
from greedyexp.experiment.settings import DECIDED, AdaptiveTrials
from greedyexp.protocols.base import Measured

UNTIL_DECIDED, MAX_TRIALS = "--until-decided", "--max-trials"
# By default, the limit is this many times the trials of the first look: five looks.
_TIMES = 16


@dataclass(frozen=True)
class UntilDecided:
    """The options ``--until-decided`` and ``--max-trials``.

    Parameters
    ----------
    most : int, optional
        Largest number of trials of a point.
    """

    most: int | None = None

    def rule(self, trials: int | AdaptiveTrials, node: Node) -> AdaptiveTrials:
        """Return the rule that starts with the trials of an experiment.

        Raises
        ------
        ConfigError
            If the experiment has another rule, or more trials than the largest number.
        """
        if isinstance(trials, int):
            trials = AdaptiveTrials(until=DECIDED, min=trials, max=_TIMES * trials)
        if not trials.until_decided:
            raise ConfigError(
                "the trials of this experiment already follow a rule.",
                place=f"{UNTIL_DECIDED}: {node.place}",
                remedy="Give the trials of the first look with --trials.",
            )
        if self.most is None:
            return trials
        if not isinstance(self.most, int):
            raise ConfigError(f"it must be a whole number, but is {self.most!r}.", place=MAX_TRIALS)
        if self.most < trials.min:
            raise ConfigError(
                f"the first look needs {trials.min} trials.",
                place=f"{MAX_TRIALS} {self.most}",
                remedy="Allow more, or give fewer with --trials.",
            )
        return trials.model_copy(update={"max": self.most})


def complete_rule(
    rule: AdaptiveTrials,
    protocol: PartSpec,
    data: Data,
    measured: Sequence[Measured],
    algorithms: list[AlgorithmSpec],
    node: Node,
) -> AdaptiveTrials:
    """Return a rule for trials with its success metrics filled in; report impossible settings."""
    if rule.min > rule.max:
        node.at("min").add(f"min = {rule.min} is more than max = {rule.max}.")
    if rule.until_decided:
        if rule.success:
            node.at("success").add(
                "the claims name their metrics, so trials until they are decided have no"
                " `success`.",
                "Remove it.",
            )
        return rule
    # A rule needs one row for each replicate.
    keyed = any(column.kind == "key" for column in measured)
    metrics = [] if keyed else [one.name for one in measured if one.kind == "success"]
    if not metrics and (keyed or not find("protocol", protocol.name).metrics):
        node.add(
            f"protocol '{protocol.name}' does not give one success (0 or 1) for each"
            " replicate, as a rule for trials requires.",
            "Give a number of trials.",
        )
        return rule
    if rule.locate is not None:
        _check_locate(rule.locate.of, data, node.at("locate", "of"))
    known = {*names_of(algorithms), "default"}
    for key, metric in rule.success.items():
        here = node.at("success", key)
        if key not in known:
            here.add(
                f"`success` names '{key}', but the experiment has no such algorithm.",
                did_you_mean(key, known),
            )
        if metric not in metrics:
            here.add(
                f"'{metric}' is not among the metrics of the experiment that are 0 or 1.",
                did_you_mean(metric, metrics),
            )
    if not rule.success and not metrics:
        node.add("no metric of the experiment is a success (0 or 1).", "List one.")
    default = {"default": metrics[0]} if metrics else {}
    return rule.model_copy(update={"success": default | rule.success})


def _check_locate(name: str, data: Data, node: Node) -> None:
    """Report a parameter along which no crossing can be located."""
    swept, somewhere = data.swept_by_all, [one for one in data.swept if one != DATA_COLUMN]
    if name in somewhere and name not in swept:
        node.add(
            f"'{name}' is not swept in every block of data, so no crossing can be located along it"
            " in the others."
        )
    elif name not in swept:
        node.add(
            f"'{name}' is not swept, so no crossing can be located along it.",
            did_you_mean(name, swept),
        )
    elif name in data.zipped:
        node.add(
            f"{name} is zipped with others, so no crossing can be located along it alone.",
            "Sweep it on its own.",
        )
    elif not all(is_number(value) and math.isfinite(value) for value in data.values(name)):
        node.add(f"{name} is not always a finite number, so no crossing can be located along it.")
