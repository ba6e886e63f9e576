"""No value of a configuration becomes a command, no file of results becomes code.

The syntax trees of the package and of the scripts are searched for what could do that; the rules, which are not quite
Python, for directives that hand text to a shell.
"""

from __future__ import annotations

import ast
import re

import pytest
import yaml
from paths import ROOT

from tallsbi.runner import config as cfg
from tallsbi.study.config_rules import problems

SCRIPTS = sorted(ROOT.glob("workflow/scripts/*.py"))
MODULES = sorted(ROOT.glob("src/**/*.py"))
RULES = [ROOT / "Snakefile", *sorted(ROOT.glob("workflow/**/*.smk"))]

# Formats and functions that run code when they read data.
UNSAFE_MODULES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
UNSAFE_CALLS = {
    *("eval", "exec", "compile", "__import__", "os.system", "os.popen", "subprocess.getoutput"),
    *("torch.load", "torch.save", "np.load", "np.save", "numpy.load", "numpy.save"),
    *("pd.read_pickle", "pandas.read_pickle", "yaml.unsafe_load", "yaml.full_load"),
}
# Readers that notice a damaged file and name it are in the first two; what else reads data says why.
READERS = {"pd.read_csv", "xr.open_dataset", "xr.load_dataset", "xr.open_mfdataset", "safe_open", "h5py.File"}
MAY_READ = {
    "src/tallsbi/storage/files.py",
    "src/tallsbi/storage/tensors.py",
    "src/tallsbi/study/references/agreement.py",  # the files of an installed package
}


def name_of(node: ast.expr) -> str:
    """The dotted name of what is called, as it is written."""
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def findings(source: str) -> list[str]:
    """What is unsafe in a module, each with its line."""
    unsafe = []
    for node in ast.walk(ast.parse(source)):
        line = f"line {getattr(node, 'lineno', 0)}: "
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = (
                [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else [alias.name for alias in node.names]
            )
            unsafe += [f"{line}import {name}" for name in names if name.split(".")[0] in UNSAFE_MODULES]
        elif isinstance(node, ast.Call):
            name, options = name_of(node.func), {keyword.arg: keyword.value for keyword in node.keywords}
            if name in UNSAFE_CALLS or name.split(".")[0] in UNSAFE_MODULES:
                unsafe.append(f"{line}{name}")
            if name == "yaml.load" and name_of(options.get("Loader", ast.Constant(None))) != "Loader":
                unsafe.append(f"{line}yaml.load without the safe Loader of tallsbi.runner.config")
            for option, harmless in (("shell", False), ("allow_pickle", False)):
                if option in options and getattr(options[option], "value", None) is not harmless:
                    unsafe.append(f"{line}{name}({option}=...)")
    return unsafe


def directives(source: str) -> list[str]:
    """Lines of a file of rules that give text to a shell, or run another language."""
    pattern = r"^\s*(shell|run|wrapper|notebook|cwl|template_engine)\s*:|\bshell\s*\("
    return [line for line in source.splitlines() if re.search(pattern, line)]


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from joblib import load",
        "import os\nos.system('ls')",
        "torch.load(path)",
        "np.load(path, allow_pickle=True)",
        "xr.open_dataset(path, allow_pickle=flag)",
        "yaml.load(text)",
        "yaml.load(text, Loader=yaml.FullLoader)",
        "def f():\n    return eval('1')",
        "subprocess.run(text, shell=True)",
    ],
)
def test_search_finds_what_it_looks_for(source):
    assert findings(source)


def test_search_passes_what_is_safe():
    assert not findings(
        "yaml.safe_load(a)\nyaml.load(a, Loader=Loader)\nsubprocess.run([a])\nre.compile(a)\nx.eval()"
    )
    assert directives("rule a:\n    shell:\n        'ls'")
    assert not directives("rule a:\n    script:\n        'a.py'\n    # shell: no")


def test_nothing_unsafe_in_package_and_scripts():
    unsafe = {
        str(path.relative_to(ROOT)): places
        for path in [*MODULES, *SCRIPTS]
        if (places := findings(path.read_text(encoding="utf-8")))
    }
    assert unsafe == {}


def test_no_rule_uses_a_shell():
    shells = {path.name: directives(path.read_text(encoding="utf-8")) for path in RULES}
    assert {name: lines for name, lines in shells.items() if lines} == {}
    for path in RULES:
        assert "pickle" not in path.read_text(encoding="utf-8")


def test_data_are_read_by_the_readers_that_notice_damage():
    other_readers = []
    for path in [*MODULES, *SCRIPTS]:
        relative = path.relative_to(ROOT).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        called = {name_of(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        bare = {"open", "json.load", "json.loads"} if path in SCRIPTS else set()
        if relative not in MAY_READ and called & (READERS | bare):
            other_readers.append(f"{relative}: {sorted(called & (READERS | bare))}")
    assert other_readers == []


def test_yaml_is_read_by_a_safe_loader():
    assert issubclass(cfg.Loader, yaml.SafeLoader | yaml.CSafeLoader)
    with pytest.raises(yaml.YAMLError):
        yaml.load("!!python/object/apply:os.getcwd []", Loader=cfg.Loader)


# Values that would do harm if they reached a shell or a path

HOSTILE = [
    "; rm -rf x",
    "$(touch x)",
    "`touch x`",
    "a b",
    "../x",
    "/tmp/x",
    "-x",
    "a\nb",
    "a/b",
    "x" * 300,
    "",
    "{x}",
]
BASE = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))


def with_value(value: str) -> dict[str, dict]:
    """Configurations with the value wherever a name may stand."""
    many = {**BASE["sbibm"]["many"], "methods": [value]}
    return {
        "run": {"run": value},
        "scale": {"scale": value},
        "protocol": {"protocol": value},
        "device": {"device": value},
        "dtype": {"dtype": value},
        "methods": {"methods": {**BASE["methods"], value: {"steps": 3}}},
        "sbibm.tasks": {"sbibm": {**BASE["sbibm"], "tasks": [value]}},
        "sbibm.extra_tasks": {"sbibm": {**BASE["sbibm"], "extra_tasks": [value]}},
        "sbibm.many.methods": {"sbibm": {**BASE["sbibm"], "many": many}},
        "metrics.c2st_backend": {"metrics": {**BASE["metrics"], "c2st_backend": value}},
    }


@pytest.mark.parametrize("key", list(with_value("")))
@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_name_is_refused_and_its_key_is_said(key, value):
    with pytest.raises(cfg.ConfigError) as caught:
        cfg.resolve({**BASE, **with_value(value)[key]}, ROOT, problems)
    assert any(problem.startswith(key) for problem in caught.value.problems), caught.value


@pytest.mark.parametrize("value", [value for value in HOSTILE if value != "x" * 300])
def test_such_a_run_is_no_run_name(value):
    assert not cfg.is_run_name(value)
