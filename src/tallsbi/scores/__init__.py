"""Scores of single-observation posteriors: of trained networks (`network_eval`), exact (`gaussian`, `mixture`) and
exact with a known error (`perturbed`)."""
