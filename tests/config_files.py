"""The files of the configuration, for the tests of it."""

from __future__ import annotations

from pathlib import Path

import yaml

from tallsbi.runner import config as cfg

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = cfg.load_schema(ROOT)
FILES = {layer: sorted((ROOT / folder).glob("*.yaml")) for layer, folder in cfg.FOLDERS.items()}


def load(name: str | Path) -> dict:
    return cfg.plain(yaml.load((ROOT / name).read_text(encoding="utf-8"), Loader=cfg.Loader))
