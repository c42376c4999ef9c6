"""The claims of shipped experiments concern rows that their runs have."""

import pytest
import yaml

from greedyexp.config import load, reload
from greedyexp.core import shipped
from greedyexp.protocols.base import recording_schedule

# Every process that collects the tests reads this list, so nothing is loaded for it.
TRAJECTORIES = [
    name
    for name, path in shipped.configs().items()
    if "trajectory" in yaml.safe_load(path.read_text(encoding="utf-8")).get("protocol", "")
]
# The packages of others are installed by `make test-peers`.
CONFIGS = [
    pytest.param(name, marks=[pytest.mark.peers] if name.startswith("best_subset_today") else [])
    for name in shipped.configs()
]


def listed(value):
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("name", TRAJECTORIES)
def test_claims_name_recorded_iterations_and_accuracies(name):
    experiment = load(shipped.locate(name), profile="paper")
    params = experiment.protocol.params
    recorded = set(recording_schedule(params["iterations"], params["points"], params["dense"]))
    for claim in experiment.claims:
        assert set(listed(claim.where.get("iteration", []))) <= recorded, claim.id
        assert set(listed(claim.where.get("epsilon", []))) <= set(params["epsilons"]), claim.id


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("profile", ["smoke", "quick"])
def test_a_claim_about_another_profile_does_not_keep_a_run_from_being_read_again(name, profile):
    experiment = load(shipped.locate(name), profile=profile)
    again = reload(experiment.resolved, profile=profile)
    assert again.points == experiment.points
    assert again.algorithms == experiment.algorithms
