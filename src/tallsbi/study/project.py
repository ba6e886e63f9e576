"""What the runner must be told about this study: its stages, and the results that hold times."""

from tallsbi.runner.command import Project

# Every figure and every table has a rule of its own, which says little in a table of costs.
STAGES = {"draw_": "draw figures", "make_": "make tables", "collect_": "collect"}

# Every result that holds measured seconds or bytes, or is made from them, below results/<run>/. The records beside
# the tables (*.meta.json) hold a checksum of such a table.
TIMED = (
    "toy/timing/*/*",
    "toy/timing.*",
    "sbibm/*/steps.*",
    "sbibm/steps.*",
    "sbibm/*/many.*",
    "sbibm/many.*",
    "tables/toy_gaussian_sw_time.*",
    "tables/toy_gmm_sw_time.*",
    "tables/toy_speedup.*",
    "figures/steps_vs_accuracy.*",
    "figures/many_observations.*",
    "costs.*",
    "tables/cost.*",
    "tables/claims.*",
    "report/*",
)

PROJECT = Project(stages=STAGES, timed=TIMED)
