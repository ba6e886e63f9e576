# Two commands matter: `make results` and `make test`. `make` alone lists the rest.
#
# Everything runs from .venv, which is built from the pins in envs/ when it is first needed and
# again whenever a pin changes.

SHELL := /bin/sh
.SHELLFLAGS := -ec
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

PYTHON   ?=
SCALE    ?=
PROTOCOL ?=
CONFIG   ?=
ARGS     ?=
UPGRADE  ?=
VERBOSE  ?=

VENV     := .venv
BIN      := $(VENV)/bin
LOCK     := envs/requirements.lock
SBIBM    := envs/sbibm.lock
CONDA    := envs/study.yaml
# Interpreters the pinned wheels exist for, the one the lock was resolved with first.
PYTHONS  := python3.11 python3.12 python3.13 python3 python

# The stamp's name holds the pins and the place, so that a changed lock or a moved checkout
# (a virtual environment cannot be moved) means a new environment, and a touched file does not.
PINS     := $(shell { pwd; cat $(LOCK) $(SBIBM); } | cksum | cut -d' ' -f1)
PINNED   := $(VENV)/.pinned-$(PINS)
READY    := $(VENV)/.ready-$(PINS)

PIP      := $(BIN)/python -m pip --disable-pip-version-check --no-input -qq

# The shell gets these from its environment, in quotes: no value can become a command.
export SCALE PROTOCOL CONFIG ARGS VERBOSE
SETTINGS := --scale="$$SCALE" --protocol="$$PROTOCOL" --config="$$CONFIG"
STUDY    := $(BIN)/python -m tallsbi.study
LAUNCH   := PATH="$(CURDIR)/$(BIN):$$PATH" $(STUDY) run $(SETTINGS)

# Make would ignore a misspelt variable: `make results scale=laptop` would run the smoke scale.
VARIABLES := PYTHON SCALE PROTOCOL CONFIG ARGS UPGRADE VERBOSE
GIVEN     := $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))
UNKNOWN   := $(filter-out $(VARIABLES) VENV BIN LOCK SBIBM CONDA PYTHONS PINS PINNED READY PIP SHELL MAKE%,$(GIVEN))
ifneq ($(UNKNOWN),)
misspelt  := $(firstword $(UNKNOWN))
spelling  := $(patsubst $(misspelt):%,%,$(filter $(misspelt):%,python:PYTHON scale:SCALE protocol:PROTOCOL config:CONFIG args:ARGS verbose:VERBOSE))
hint      := $(if $(spelling),$(spelling)=$($(misspelt)),CONFIG='$(misspelt)=$($(misspelt))')
$(error $(misspelt) is no variable of this Makefile, which has $(VARIABLES). Did you mean: make $(MAKECMDGOALS) $(hint))
endif

# A target says its group in brackets: use, cluster or develop (the default).
.PHONY: help
help: ## [use] list the targets
	@for group in use cluster develop; do echo "To $$group:" | sed 's/To cluster:/On a cluster:/'; \
	  sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' Makefile | sed -E '/\|\[/!s/\|/|[develop] /' \
	    | awk -F'[|]\\[|\\] ' -v group=$$group '$$2 == group {printf "  %-18s %s\n", $$1, $$3}'; done
	@echo "Variables:"
	@echo "  SCALE=smoke|laptop|decisive|paper   how large (config.yaml says smoke)"
	@echo "  PROTOCOL=published|stated    which fidelity switches (config.yaml says published)"
	@echo "  CONFIG='seed=7 sbibm.sets=3' more settings of config.yaml, for a run in a directory of its own"
	@echo "  ARGS='...'                   more arguments for snakemake, e.g. ARGS=--dry-run"
	@echo "  VERBOSE=1                    Snakemake's own text instead of the display"
	@echo "  PYTHON=/path/to/python3.12   the interpreter .venv is made from (make clean first)"

.PHONY: env
env: $(READY) ## [use] build .venv from the pins in envs/

.PHONY: results
results: $(READY) ## [use] compute every table, figure and the report (SCALE, PROTOCOL, CONFIG, ARGS, VERBOSE)
	@$(LAUNCH) --args="$$ARGS"
	$(if $(filter -n --dry-run --dryrun,$(ARGS)),,@$(STUDY) where $(SETTINGS))

.PHONY: redraw
redraw: $(READY) ## [use] draw a run again from its tidy data, computing nothing (SCALE, PROTOCOL, CONFIG)
	@$(STUDY) redraw $(SETTINGS) --args="$$ARGS"
	@$(STUDY) where $(SETTINGS)

.PHONY: verify
verify: $(READY) ## [use] compare results with their checksums; the first time, write these (SCALE, PROTOCOL, CONFIG)
	@$(STUDY) verify $(SETTINGS)

.PHONY: paper
paper: ## [use] the same as: make results SCALE=paper
	@$(MAKE) --no-print-directory results SCALE=paper

.PHONY: report
report: $(READY) ## [use] make the report page of a run, and what it lacks (SCALE, PROTOCOL, CONFIG)
	@$(LAUNCH) --args="make_report $$ARGS"
	@$(STUDY) where $(SETTINGS)

.PHONY: snakemake-report
snakemake-report: $(READY) ## [use] make Snakemake's own report of a finished run, a zip (SCALE, PROTOCOL, CONFIG)
	@run=$$($(STUDY) directory $(SETTINGS)); \
	  $(LAUNCH) --args="--report $$run/snakemake-report.zip $$ARGS"; echo "Report: $$run/snakemake-report.zip"

.PHONY: ledger
ledger: $(READY) ## [use] judge the paper's claims on what a run has so far (SCALE, PROTOCOL, CONFIG)
	@$(BIN)/python -m tallsbi.study.report.so_far $(SETTINGS)

.PHONY: gallery
gallery: $(READY) ## [use] rewrite docs/gallery from a finished run (SCALE, by default laptop)
	@$(BIN)/python -m tallsbi.study.report.gallery $(SETTINGS)

.PHONY: dag
dag: $(READY) ## redraw the picture of the workflow in docs/architecture.md
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/snakemake --cores 1 --rulegraph mermaid-js | $(BIN)/python -m tallsbi.study.report.rulegraph

.PHONY: docs
docs: $(READY) ## build the documentation site, build/docs/index.html; a warning is an error
	@$(BIN)/sphinx-build -W --keep-going -q -b html docs build/docs
	@$(BIN)/python docs/notebook.py build/docs/notebooks
	@echo "Site: build/docs/index.html; the guides as notebooks: build/docs/notebooks"

# In the order of tests/conftest.py, the slow folders first: by itself xdist puts the files with most tests first.
.PHONY: test
test: $(READY) ## run the tests and report which lines of the package they run
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder --cov --cov-report=term

# The daemons are stopped again even if the tests themselves are killed.
.PHONY: slurm-test
slurm-test: $(READY) ## [cluster] test the cluster profile on a SLURM of our own (as root, on Debian)
	@$(BIN)/python tests/slurm/cluster.py install
	@status=0; PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pytest -m slurm tests/slurm $$ARGS || status=$$?; \
	  $(BIN)/python tests/slurm/cluster.py stop; exit $$status

.PHONY: bench
bench: $(READY) ## time the hot loops against their bars (a few minutes)
	@$(BIN)/python -m benchmarks $$ARGS

.PHONY: plan
plan: $(READY) ## [use] say what a run will cost before it is run (SCALE, PROTOCOL, CONFIG)
	@$(STUDY) plan $(SETTINGS)

.PHONY: efficiency
efficiency: $(READY) ## [cluster] say what the jobs of a run asked for and what they used (SCALE, PROTOCOL, CONFIG)
	@$(STUDY) efficiency $(SETTINGS)

.PHONY: calibrate
calibrate: $(READY) ## [cluster] fit the cost model to the records of the runs under results/
	@$(STUDY) calibrate

.PHONY: bench-peers
bench-peers: $(READY) ## compare with NLE, sbi's score methods and BayesFlow (hours; goes on where it stopped)
	@$(BIN)/python -m benchmarks.peers $$ARGS

# BayesFlow asks for other versions than our pins: it gets an environment of its own, which takes 1.1 GB.
BAYESFLOW := build/bayesflow
.PHONY: bayesflow
bayesflow: $(READY) ## install BayesFlow beside, in build/bayesflow, for bench-peers
	@rm -rf $(BAYESFLOW)
	@echo "Installing BayesFlow into $(BAYESFLOW) (minutes)"
	@if $(BIN)/python -m venv $(BAYESFLOW) \
	  && $(BAYESFLOW)/bin/python -m pip --disable-pip-version-check --no-input -q install --requirement envs/bayesflow.txt; \
	then :; else \
	  rm -rf $(BAYESFLOW); \
	  echo "Error: BayesFlow cannot be installed here, pip says why above. make bench-peers leaves it out." >&2; exit 1; \
	fi
	@if KERAS_BACKEND=torch $(BAYESFLOW)/bin/python -c "import bayesflow; print('BayesFlow', bayesflow.__version__)"; \
	then :; else \
	  echo "Error: BayesFlow is installed in $(BAYESFLOW) but cannot be imported, see above; make bench-peers leaves it out." >&2; \
	  exit 1; \
	fi

.PHONY: references
references: $(READY) ## compare our reference posteriors with those sbibm ships (about five minutes)
	@$(BIN)/python -m tallsbi.study.references $$ARGS

.PHONY: lint
lint: $(READY) ## check style, types and rules; changes nothing
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/snakefmt --check Snakefile workflow
	@$(BIN)/mypy
	@$(BIN)/python workflow/lint.py

.PHONY: format
format: $(READY) ## apply the style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/snakefmt Snakefile workflow

# Pins that are already there stay unless UPGRADE=1. Three things are taken out: the build tag of torch ("+cpu")
# and the accelerator packages that only some builds of torch ask for, which belong to the machine and not to the
# study (pip adds these packages wherever torch wants them), and tallsbi, which is listed because of its extras.
.PHONY: lock
lock: $(READY) ## regenerate the pins in envs/ from pyproject.toml (UPGRADE=1: newest versions)
	@cp $(LOCK) $(LOCK).tmp
	@CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile pyproject.toml --extra dev \
	  --constraint envs/constraints.txt --unsafe-package pip --strip-extras --quiet \
	  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options \
	  $(if $(UPGRADE),--upgrade) --output-file $(LOCK).tmp
	@awk '/^[^ ]/ {skip = /^(nvidia-|cuda-|triton|tallsbi )/} !skip {sub(/\+[a-z0-9.]+$$/, ""); print}' \
	  $(LOCK).tmp > $(LOCK).new
	@{ sed '/^  - pip:$$/q' $(CONDA); sed -nE 's/^([A-Za-z0-9][^ ]*==[^ ]+)$$/      - \1/p' $(LOCK).new; } \
	  > $(CONDA).new
	@mv $(LOCK).new $(LOCK); mv $(CONDA).new $(CONDA); rm -f $(LOCK).tmp
	@echo "$(LOCK): $$(grep -c == $(LOCK)) pins"

.PHONY: clean
clean: ## [use] remove .venv and caches; results are left alone
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache .hypothesis .benchmarks .coverage
	find src tests workflow benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is written last and an environment without one is built from nothing, so an interrupted installation
# never counts as finished. Bytecode is compiled separately because pip would do it on one core. Files that no
# Python 3 can compile, as in some test data, do not matter.
$(READY): $(PINNED) pyproject.toml
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@
	@echo "The environment is ready: $(VENV)"

$(PINNED):
	@if test -L $(VENV); then \
	  echo "Error: $(VENV) is a symbolic link, and building an environment there would empty what it points to." >&2; \
	  echo "Remove the link (rm $(VENV)) and give the command again." >&2; \
	  exit 1; \
	fi
	@python=; rejected=; \
	for name in $(or $(PYTHON),$(PYTHONS)); do \
	  version=$$("$$name" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null) || continue; \
	  case $$version in \
	    3.11.*|3.12.*|3.13.*) ;; \
	    3.1[4-9].*) \
	      if test -z "$(PYTHON)"; then rejected="$$rejected; $$name is $$version, too new for the pins"; continue; fi; \
	      echo "Warning: the pins are meant for Python 3.11 to 3.13; trying with $$version." >&2;; \
	    *) rejected="$$rejected; $$name is $$version, too old"; continue;; \
	  esac; \
	  if "$$name" -c 'import ensurepip, venv' 2>/dev/null; then :; else \
	    rejected="$$rejected; $$name is $$version but has no venv module (Debian, Ubuntu: install python3-venv)"; \
	    continue; \
	  fi; \
	  python=$$("$$name" -c 'import sys; print(getattr(sys, "_base_executable", sys.executable))'); \
	  break; \
	done; \
	if test -z "$$python"; then \
	  echo "Error: tallsbi needs Python 3.11, 3.12 or 3.13. Found: $${rejected:-; none (tried: $(or $(PYTHON),$(PYTHONS)))}." \
	    | sed 's/Found: ; /Found: /' >&2; \
	  echo "Install one, or name it: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; \
	  exit 1; \
	fi; \
	if command -v cc >/dev/null || command -v gcc >/dev/null; then :; else \
	  echo "Warning: no C compiler (cc or gcc) in PATH; a package without a wheel for this machine" >&2; \
	  echo "will fail to install. Debian, Ubuntu: install build-essential." >&2; \
	fi; \
	echo "Creating $(VENV) with Python $$version"; \
	"$$python" -m venv --clear $(VENV)
	@echo "Installing $$(grep -c == $(LOCK)) pinned packages (two or three minutes)"
	@$(PIP) install --no-compile --requirement $(LOCK)
	@$(PIP) install --no-compile --no-deps --requirement $(SBIBM)
	@echo "Compiling their bytecode"
	@$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
	@touch $@
