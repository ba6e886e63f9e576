"""The commands of the study that `make` calls: `python -m tallsbi.study --help`."""

import sys
from pathlib import Path

from tallsbi.runner.command import main
from tallsbi.study.project import project

if __name__ == "__main__":
    sys.exit(main(project(Path.cwd())))
