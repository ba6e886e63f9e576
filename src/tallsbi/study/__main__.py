"""The commands of the study that `make` calls: `python -m tallsbi.study --help`."""

import sys

from tallsbi.runner.command import main
from tallsbi.study.project import PROJECT

if __name__ == "__main__":
    sys.exit(main(PROJECT))
