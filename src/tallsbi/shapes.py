"""The arrays that scores, compositions and samplers exchange, by name; all other shapes stand where they are used."""

from jaxtyping import Float
from torch import Tensor

States = Float[Tensor, "B S m"]
"""S states theta_t for each of B datasets, or one vector for each of them, such as a tall score."""
Scores = Float[Tensor, "B S n m"]
"""The scores of the n single-observation posteriors at every state."""
Jacobians = Float[Tensor, "B S n m m"]
"""Their derivatives d score_i / d theta_k."""
Precisions = Float[Tensor, "#B #S m m"]
"""A matrix for every state, or one that states or datasets share."""
Observations = Float[Tensor, "B n d"]
"""n observations of each dataset."""
