"""Checks that an algorithm or a loss of a plugin does what greedyexp asks of it.

contract     ``check_algorithm`` and the decorator of tests
checks       the checks
trial        calls of the algorithm, and the sentence that says what it did wrong
data         the small problems that the checks give
loss_checks  ``check_loss``
"""

from greedyexp.testing.contract import check_algorithm, parametrize_with_checks
from greedyexp.testing.loss_checks import check_loss
from greedyexp.testing.trial import BrokenContract

__all__ = ["BrokenContract", "check_algorithm", "check_loss", "parametrize_with_checks"]
