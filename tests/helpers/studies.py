"""The study under the smallest configuration, and under one with another value."""

from __future__ import annotations

import copy

from config_files import resolved

from tallsbi.study.parts.study import Study

CONFIG = resolved()


def changed(*keys, to):
    """The study with another value of a key."""
    config = copy.deepcopy(CONFIG)
    block = config
    for key in keys[:-1]:
        block = block[key]
    block[keys[-1]] = to
    return Study(config)


STUDY = Study(CONFIG)
