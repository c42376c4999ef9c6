"""Every shipped algorithm passes the checks that greedyexp offers to authors of plugins."""

from __future__ import annotations

import pytest
from algorithm_cases import NEEDED, peer_marks

from greedyexp.core import registry
from greedyexp.testing import check_algorithm

LOGISTIC = {"loss": "logistic"}
HINGE = {"loss": "hinge", "beta": 2.0}
# Without a ridge a chain has several minimisers, since only differences between classes count, and
# rounding decides which one is found.
CRF = {"loss": "crf", "ridge": 0.01}
# Other losses, rules and designs: each is a name and what is given.
VARIANTS = [
    *((f"{kind}_{by}", LOGISTIC) for kind in ("foba", "forward") for by in ("gdt", "obj")),
    *((name, LOGISTIC) for name in ("l1_path", "l1_ball", "forward_greedy", "fully_corrective")),
    *((name, HINGE) for name in ("l1_ball", "forward_greedy", "fully_corrective")),
    *((name, CRF) for name in ("foba_gdt", "foba_obj", "l1_path")),
    *((name, {"loss": "logdet"}) for name in ("foba_gdt", "foba_obj", "forward_obj", "l1_path")),
    *((name, {"risk": "population"}) for name in ("l1_ball", "forward_greedy", "fully_corrective")),
    ("estimator", {"class": "sklearn.linear_model.Ridge", "tune": {"alpha": [1.0, 0.1]}}),
    ("estimator", {"class": "sklearn.linear_model.SGDRegressor"}),
    ("foba_gdt", {"unit": "group", **CRF}),
    ("foba_obj", {"judge": "refit"}),
    ("forward_greedy", {"loss": "absolute", "beta": 2.0}),
    ("forward_greedy", {"step": "line_search", "epsilon": 0.01}),
    ("fully_corrective", {"rule": "gradient"}),
    ("greedy_dirty", {"stack": "per_class"}),
    ("group_omp", {"judge": "refit"}),
    ("l1_path", {"intercept": True}),
    ("omp", {"judge": "refit"}),
    ("omp", {"normalize": False}),
    ("proximal_gs_coordinate_descent", {"lam": 0.1, "smoothness": "l2"}),
    ("randomized_sparsification", {"repeats": 3}),
    ("replacement_steps", {"features": 3, "variant": "simple"}),
    ("smoothed_forward_greedy", {"loss": "absolute"}),
    ("ultimate", {"lam": 0.1}),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=peer_marks(name)) for name in registry.parts("algorithm")]
)
def test_a_shipped_algorithm_keeps_the_contract(name):
    check_algorithm(name, **NEEDED.get(name, {}))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "given"), VARIANTS, ids=str)
def test_its_variants_keep_the_contract(name, given):
    check_algorithm(name, **given)
