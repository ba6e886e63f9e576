"""Tables of the run as a whole."""

from tallsbi.study.columns.tidy import table

THEORY = table("claims/theory", "quantity:text case:text method:text m:int n:int steps:int seed:int value")
COSTS = table("costs", "stage:text jobs:int core_hours share longest_h peak_mib run:text")
TABLES = (THEORY, COSTS)
