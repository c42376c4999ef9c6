"""The rule by which the number of replicates depends on the results."""

from __future__ import annotations

import math
from collections.abc import Sequence

from greedyexp.config.algorithms import Algorithms
from greedyexp.config.data import Data
from greedyexp.config.document import Node
from greedyexp.config.protocol import ProtocolEntry
from greedyexp.core.errors import did_you_mean
from greedyexp.experiment.design import DATA_COLUMN
from greedyexp.experiment.model import AdaptiveTrials
from greedyexp.experiment.parameters import is_number
from greedyexp.protocols.base import Measured


def complete_rule(
    rule: AdaptiveTrials,
    protocol: ProtocolEntry,
    data: Data,
    measured: Sequence[Measured],
    algorithms: Algorithms,
    node: Node,
) -> AdaptiveTrials:
    """Return a rule for trials with its success metrics filled in; report impossible settings."""
    # A rule needs one row for each replicate.
    keyed = any(column.kind == "key" for column in measured)
    metrics = [] if keyed else [one.name for one in measured if one.kind == "success"]
    if not metrics and (keyed or not protocol.part.metrics):
        node.add(
            f"protocol '{protocol.part.name}' does not give one success (0 or 1) for each"
            " replicate, as a rule for trials requires.",
            "Give a number of trials.",
        )
        return rule
    if (rule.until is None) == (rule.locate is None):
        node.add("adaptive trials need either 'until' or 'locate'.", "Keep one of them.")
    if rule.min > rule.max:
        node.at("min").add(f"min = {rule.min} is more than max = {rule.max}.")
    if rule.locate is not None:
        _check_locate(rule.locate.of, data, node.at("locate", "of"))
    known = {*algorithms.names, "default"}
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
