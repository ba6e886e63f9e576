"""The posterior of many observations by the central limit theorem: the mean of summaries learnt from single ones."""
