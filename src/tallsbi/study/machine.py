"""What the configuration demands of the machine, checked before any job starts."""

import sys


def demand_precision(precision: str, device: str) -> None:
    """Ends the run where the machine would emulate the products of this precision."""
    if precision == "float32":
        return
    from tallsbi.scores.precision import checked  # loads torch

    try:
        checked(precision, device)
    except ValueError as error:
        print(f"{error} No job was started.", file=sys.stderr)
        sys.exit(1)
