"""The display of a run, as Snakemake's logger plugin `tallsbi`: `snakemake --logger tallsbi`.

Snakemake finds plugins by the name of their module, and imports all of them before it reads the Snakefile, which
chooses the package of its checkout. So nothing of tallsbi is imported until this plugin is asked for.
"""

from __future__ import annotations

import sys
from logging import LogRecord

from snakemake_interface_logger_plugins.base import LogHandlerBase


class LogHandler(LogHandlerBase):
    """Passes what Snakemake says on to the display; Snakemake's own text goes to its log file as always."""

    def __post_init__(self) -> None:
        from tallsbi.runner.display import Display

        self.display = Display(sys.stderr, dry=self.common_settings.dryrun)

    def emit(self, record: LogRecord) -> None:
        self.display.show(record)

    def close(self) -> None:
        self.display.end()
        super().close()

    @property
    def writes_to_stream(self) -> bool:
        return True

    @property
    def writes_to_file(self) -> bool:
        return False

    @property
    def has_filter(self) -> bool:
        return True

    @property
    def has_formatter(self) -> bool:
        return True

    @property
    def needs_rulegraph(self) -> bool:
        return False
