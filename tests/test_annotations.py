"""The shapes in the annotations are checked while the tests run."""

import pytest
import torch
from oracles import GaussianCase

from tallsbi.compose.base import TallScore
from tallsbi.schedule import TOY


def test_a_wrong_argument_shape_is_noticed():
    bound = GaussianCase(2, 3, 2).bound()
    with pytest.raises(TypeError, match="Type-check"):
        bound(torch.zeros(4, 2, dtype=torch.float64), 0.5)


def test_a_wrong_result_shape_is_noticed():
    case = GaussianCase(2, 3, 2)
    prior = case.prior()
    prior._precision = prior._precision[:, :1]
    with pytest.raises(TypeError, match="Type-check"):
        prior.score_and_excess(case.states(0.5), 0.5, TOY)


def test_a_wrong_type_is_noticed():
    with pytest.raises(TypeError, match="Type-check"):
        GaussianCase(1, 2, 1).score().bind(3)


def test_abstract_tall_score_cannot_be_made():
    with pytest.raises(TypeError, match="abstract"):
        TallScore(GaussianCase(1, 2, 1).bound(), GaussianCase(1, 2, 1).prior(), 1)
