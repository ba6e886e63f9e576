"""The files of the configuration, and the configuration at the smoke scale, for tests."""

from __future__ import annotations

from pathlib import Path

import yaml
from paths import ROOT

from tallsbi.runner import config as cfg
from tallsbi.study.config_rules import problems

SCHEMA = cfg.load_schema(ROOT)
FILES = {layer: sorted((ROOT / folder).glob("*.yaml")) for layer, folder in cfg.LAYER_FOLDERS.items()}


def load(name: str | Path) -> dict:
    return cfg.plain(yaml.load((ROOT / name).read_text(encoding="utf-8"), Loader=cfg.Loader))


def top(**changes) -> dict:
    """config.yaml at the smoke scale with changes, as Snakemake would hand it over."""
    return cfg.merge(load("config.yaml"), {"scale": "smoke", "protocol": "published", **cfg.plain(changes)})


def resolved(**changes) -> dict:
    """The whole configuration at the smoke scale with changes."""
    return cfg.resolve(top(**changes), ROOT, problems)


def message(config: dict, root: Path = ROOT) -> str:
    """What is said of a bad configuration."""
    try:
        cfg.resolve(config, root, problems)
    except cfg.ConfigError as error:
        return str(error)
    raise AssertionError("the configuration was accepted")
