"""The configuration: its layers, its checks and messages."""

from __future__ import annotations

import copy
import re
import shutil
from pathlib import Path

import pytest
import yaml
from config_files import FILES, ROOT, load, message, resolved, top
from fresh_python import loaded

from tallsbi.runner import config as cfg
from tallsbi.runner.config_schema import inline, look_up
from tallsbi.study.config_rules import Rules, problems


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the configuration files, to be broken."""
    shutil.copytree(ROOT / "workflow/schemas", tmp_path / "workflow/schemas")
    for folder in cfg.LAYER_FOLDERS.values():
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shutil.copy(ROOT / "config.yaml", tmp_path)
    return tmp_path


# Layers


@pytest.mark.parametrize("protocol", [path.stem for path in FILES["protocol"]])
@pytest.mark.parametrize("scale", [path.stem for path in FILES["scale"]])
def test_every_scale_and_protocol_resolves(scale, protocol):
    full = resolved(scale=scale, protocol=protocol)
    assert full["toy"]["dims"] == load(f"workflow/scales/{scale}.yaml")["toy"]["dims"]
    assert full["fidelity"] == load(f"workflow/protocols/{protocol}.yaml")["fidelity"]
    assert full["toy"]["correlation"] == load("config.yaml")["toy"]["correlation"]
    assert full["methods"]["GAUSS"].keys() >= {"steps", "cov_samples", "cov_steps", "cov_eta"}


def test_config_wins_over_overlays_and_lists_replace():
    changes = {"toy": {"seeds": 2, "dims": [10]}, "fidelity": {"uniform_switch": 0.25}}
    full = resolved(**changes, methods={"JAC": {"steps": 7}})
    smoke, published = load("workflow/scales/smoke.yaml"), load("workflow/protocols/published.yaml")
    assert (full["toy"]["seeds"], full["toy"]["dims"]) == (2, [10])
    assert full["toy"]["n_obs"] == smoke["toy"]["n_obs"]
    assert full["fidelity"] == {**published["fidelity"], "uniform_switch": 0.25}
    assert full["methods"]["JAC"] == {"steps": 7}
    assert full["methods"]["GAUSS"]["steps"] == smoke["methods"]["GAUSS"]["steps"]


def test_protocol_wins_over_scale(tree, monkeypatch):
    monkeypatch.setattr(cfg, "overlay_problems", lambda *_: [])  # let a scale hold a key of the protocol
    (tree / "workflow/scales/smoke.yaml").open("a").write("fidelity: {uniform_switch: 0.125}\n")
    full = cfg.resolve(top(), tree, problems)
    assert full["fidelity"] == load("workflow/protocols/published.yaml")["fidelity"]


def test_methods_are_those_of_config_in_the_order_of_the_file():
    config = top()
    config["methods"] = {"NEW": {"steps": 3}, "LANGEVIN": {}, "GAUSS": {"cov_steps": 9}}
    full = cfg.resolve(
        config, ROOT, lambda *arguments: Rules(*arguments, ("GAUSS", "LANGEVIN", "NEW")).problems()
    )
    assert list(full["methods"]) == ["GAUSS", "LANGEVIN", "NEW"]
    sizes = load("workflow/scales/smoke.yaml")["methods"]
    assert full["methods"]["LANGEVIN"]["steps"] == sizes["LANGEVIN"]["steps"]


def test_resolve_leaves_its_argument_alone():
    config = top()
    before = copy.deepcopy(config)
    cfg.resolve(config, ROOT, problems)["toy"]["dims"].append(99)
    assert config == before


def test_command_line_text_becomes_numbers():
    parse_config = pytest.importorskip("snakemake.cli").parse_config
    given = parse_config(
        ["seed=7", "toy={seeds: 2, noise: [0, 0.01, 1e-3]}", "methods={LANGEVIN: {tau: 0.1}}"]
    )
    full = resolved(**given)
    assert (full["seed"], full["toy"]["seeds"], full["toy"]["noise"]) == (7, 2, [0, 0.01, 0.001])
    assert isinstance(full["toy"]["noise"][0], int)
    assert full["methods"]["LANGEVIN"]["tau"] == 0.1


def test_unquoted_ddim_steps_are_the_same_key():
    assert resolved(ddim={"eta": {50: 0.3}})["ddim"]["eta"]["50"] == 0.3


def test_run_name():
    assert cfg.run_name({"scale": "smoke", "protocol": "published"}) == "smoke"
    assert cfg.run_name({"scale": "smoke", "protocol": "stated"}) == "smoke-stated"
    assert cfg.run_name({"scale": "smoke", "protocol": "stated", "run": "trial-1"}) == "trial-1"


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, None),
        ({"scale": "laptop"}, None),
        ({"seed": 7}, "smoke-seed~7"),
        ({"seed": "7", "scale": "paper", "protocol": "stated"}, "paper-stated-seed~7"),
        ({"seed": 7, "sbibm": {"sets": 3}}, "smoke-sbibm.sets~3-seed~7"),
        ({"sbibm": {"sets": 2}}, None),  # what the scale says
        ({"sbibm": {"n_obs": [1, 4]}}, "smoke-sbibm.n_obs~1+4"),
        ({"methods": {"LANGEVIN": {"tau": 0.1}}}, "smoke-methods.LANGEVIN.tau~0.1"),
        ({"seed": 7, "run": "trial"}, "trial"),
    ],
)
def test_settings_of_the_command_line_name_the_run(changes, name):
    assert resolved(**changes).get("run") == name
    given = top(**changes)
    assert cfg.name_from_files(given, ROOT) == (name or cfg.run_name(given))


def test_a_long_name_is_shortened_and_still_tells_runs_apart():
    names = [resolved(toy={"noise": [k / 1000 for k in range(count)] + [0.01]})["run"] for count in (9, 8)]
    assert len(set(names)) == 2
    assert all(cfg.is_run_name(name) and name.startswith("smoke-toy.noise~") for name in names)


def test_an_edit_of_config_yaml_keeps_the_directory(tree):
    config = top(seed=7)
    (tree / "config.yaml").write_text(yaml.safe_dump(config))
    assert "run" not in cfg.resolve(config, tree, problems)


# Mistakes

# One case per line, in YAML as on the command line, then what the message must contain.
BROKEN = r"""
sead: 1                          => sead: unknown key (from the command line) && did you mean `seed`?
toy: {n_ob: [1]}                 => toy.n_ob: unknown key && did you mean `toy.n_obs`?
corelation: 0.1                  => corelation: unknown key && did you mean `toy.correlation`?
methods: {JAC: {stps: 3}}        => methods.JAC.stps: unknown key && did you mean `methods.JAC.steps`?
n_obs: [2]                       => n_obs: unknown key && `n_obs` exists at toy.n_obs, toy.table.n_obs
seed: abc                        => seed = 'abc' (from the command line): must be an integer at least 0
seed: -1                         => seed = -1 && at least 0
run: 1.5                         => run = 1.5 && a name of 1 to 64 letters
run: "; rm -rf x"                => run = '; rm -rf x' (from the command line): must be a name of 1 to 64
run: ../x                        => run = '../x'
run: "x\n"                       => run = 'x\n'
toy:                             => toy = None && a mapping with the keys seeds, samples
toy: {dims: 2}                   => toy.dims = 2 && a list of one or more
toy: {dims: []}                  => toy.dims = [] && a list of one or more, each an integer from 1 to 256
toy: {dims: [2, 10, 257]}        => toy.dims[2] = 257 && an integer from 1 to 256
toy: {noise: [0, 0.01, 0.0]}     => toy.noise = [0, 0.01, 0.0] && no two equal && repeated: [0.0]
toy: {noise: [0, 0.01, .nan]}    => toy.noise[2] = nan && from 0 to 10 && NaN and infinity do not count
clip: .inf                       => clip = inf && NaN and infinity do not count
toy: {seeds: true}               => toy.seeds = True && an integer from 1 to 1000
toy: {seeds: 5.0}                => toy.seeds = 5.0 && an integer from 1 to 1000
toy: {correlation: 1}            => toy.correlation = 1 && at least 0 and less than 1
toy: {mixture: {scales: [1.0]}}  => toy.mixture.scales = [1.0] && a list of 2, each a number greater than 0
ddim: {eta: {50: 1.5}}           => ddim.eta.50 = 1.5 && a number from 0 to 1
ddim: {eta: {fifty: 1}}          => ddim.eta.fifty: unknown key && must match ^[1-9][0-9]*$
device: cudda                    => device = 'cudda' && one of cpu, cuda && did you mean `cuda`?
methods: {JAC: {parts: [toi]}} => methods.JAC.parts[0] = 'toi' && one of toy, sbibm, jrnmm && mean `toy`?
methods: {gauss: {}}             => methods.gauss: unknown key && did you mean `methods.GAUSS`?
methods: {BARE: {}}              => methods.BARE.steps is missing && config.yaml (`BARE: {steps: 400}`)
scale: smok                      => scale = 'smok' && laptop, paper, smoke && did you mean `smoke`?
scale: ../protocols/stated       => 1 problem && no such scale
scale: [smoke]                   => 1 problem && no such scale
protocol: statd                  => protocol = 'statd' && published, stated && did you mean `stated`?
{scale: x, seed: -1}             => 2 problems && scale = 'x' && seed = -1
{sead: 1, seed: x, toy: {dims: [], n_ob: 3}} => 4 problems && sead && seed = 'x' && toy.dims = [] && toy.n_ob
"""


@pytest.mark.parametrize("line", BROKEN.strip().splitlines())
def test_broken_config(line):
    changes, fragments = line.split(" => ")
    text = message(top(**yaml.safe_load(changes)))
    assert [fragment for fragment in fragments.split(" && ") if fragment not in text] == [], text


@pytest.mark.parametrize("key", ["seed", "methods", "scale", "protocol", "toy.mixture", "toy.mala.retries"])
def test_missing_key(key):
    config, (*parent, name) = top(), key.split(".")
    del look_up(config, tuple(parent))[name]
    assert f"{key} is missing" in message(config)


def test_no_methods():
    assert "methods = {} (from the command line)" in message(top() | {"methods": {}})


SMOKE, PUBLISHED = "workflow/scales/smoke.yaml", "workflow/protocols/published.yaml"
BROKEN_FILES = [
    (SMOKE, "toy:\n  seeds: ]\n", f"{SMOKE}, line 2: not usable as YAML"),
    (SMOKE, "toy: {}\nclip: 1\ntoy: {}\n", "line 3: not usable as YAML: the key `toy` is given twice"),
    (SMOKE, "- 1\n", f"{SMOKE}, line 1: must be a mapping"),
    (SMOKE, "", f"{SMOKE}, line 1: the file is empty"),
    (SMOKE, "toy:\n\tseeds: 1\n", f"{SMOKE}, line 2: not usable as YAML"),
    (SMOKE, "fidelity: {toy_prior: wide}", f"fidelity.toy_prior does not belong in {SMOKE}"),
    (SMOKE, "clip: 2.0\n", "a scale holds sizes only; set it in config.yaml"),
    (SMOKE, "toy: {seedz: 1}\n", f"toy.seedz: unknown key (from {SMOKE})"),
    (SMOKE, "toy: {seeds: 0}\n", f"toy.seeds = 0 (from {SMOKE})"),
    (PUBLISHED, "toy: {seeds: 3}\n", f"toy.seeds does not belong in {PUBLISHED}"),
    ("config.yaml", "seed: 3\nseed: 4\n", "config.yaml, line 2: not usable as YAML: the key `seed`"),
]


@pytest.mark.parametrize(("name", "text", "fragment"), BROKEN_FILES)
def test_broken_file(name, text, fragment, tree):
    (tree / name).write_text(text)
    assert fragment in message(top(), tree)


def test_origin_is_config_yaml_when_the_file_says_so(tree):
    config = top(seed=-3, toy={"noise": [float("nan")]})
    (tree / "config.yaml").write_text(yaml.safe_dump(config))
    text = message(config, tree)
    assert "seed = -3 (from config.yaml)" in text
    assert "toy.noise[0] = nan (from config.yaml)" in text


def test_load_or_exit_prints_the_message_only(capsys):
    with pytest.raises(SystemExit) as ended:
        cfg.load_or_exit(top(seed=-1, methods={}) | {"methods": {}}, ROOT, problems)
    assert ended.value.code == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("The configuration has 2 problems:\n  1. ")


def test_import_is_light():
    assert loaded("import tallsbi.runner.config", "torch", "pandas", "numpy") == []


def inlined(tmp_path, **files: str):
    """A schema in a few files, a.yaml the first, with its references put in place."""
    for name, text in files.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return inline(lambda path: yaml.safe_load(path.read_text()), tmp_path / "a.yaml")


def test_references_of_the_schema_are_put_in_place(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/c.yaml").write_text("{items: {$ref: ../b.yaml#/$defs/n}}")
    a = "{one: {$ref: 'b.yaml#/$defs/n', minimum: 2}, two: {$ref: sub/c.yaml}, three: [{$ref: '#/one'}]}"
    schema = inlined(tmp_path, a=a, b="{$defs: {n: {type: integer, minimum: 1}}}")
    one = {"type": "integer", "minimum": 2}
    assert schema == {"one": one, "two": {"items": {"type": "integer", "minimum": 1}}, "three": [one]}


def test_a_reference_that_leads_nowhere_is_named(tmp_path):
    with pytest.raises(KeyError, match=r"b\.yaml has no /\$defs/m"):
        inlined(tmp_path, a="{one: {$ref: b.yaml#/$defs/m}}", b="{$defs: {n: {type: integer}}}")


def test_every_file_of_the_schema_is_short_and_referred_to():
    files = [ROOT / cfg.SCHEMA, *(ROOT / "workflow/schemas/config").iterdir()]
    text = {file: file.read_text() for file in files}
    assert [file.name for file in files if len(text[file].splitlines()) > 300] == []
    named = {name for body in text.values() for name in re.findall(r"\$ref: (?:config/)?(\w+\.yaml)", body)}
    assert named == {file.name for file in files[1:]}
