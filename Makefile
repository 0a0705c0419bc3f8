# Needs make, and a Python of 3.11 or newer with venv and pip. Everything else goes into .venv.

PYTHON       ?= python3
VENV         ?= .venv
ARGS         ?=
MINUTES      ?= 30
SEED         ?=
# Tests wait more than they compute, so five of them share two cores well.
TEST_WORKERS ?= 5

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check --no-input

# An empty setting is no setting.
ifeq ($(strip $(TENURE_URL)),)
unexport TENURE_URL
endif
ifeq ($(strip $(TENURE_TEST_POSTGRES)),)
unexport TENURE_TEST_POSTGRES
endif

# The tests start hundreds of processes, and each would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help up crawl bot demo test proof torture lint types layers compiled fmt schema freeze screenshots bench bench-quick bench-store bench-worker bench-gateway bench-dashboard bench-layouts clean
.DELETE_ON_ERROR:

help: ## Print the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

up: $(VENV)/.installed ## Install Tenure into .venv and open everything: worker, gateway, dashboard, on SQLite
	@$(BIN)/python -m tenure demo $(ARGS)

crawl: $(VENV)/.installed ## Watch a worker crawl a small site, on SQLite
	@$(BIN)/python -m examples.crawler --fresh $(ARGS)

bot: $(VENV)/.installed ## Watch a Telegram bot answer four people, without an account or a network
	@$(BIN)/python -m examples.telegram_bot

demo: $(VENV)/.installed ## Show, line by line, what happens to a handful of jobs
	@$(BIN)/python -m tenure demo --story

test: $(VENV)/.developed ## Lint, types, layers, then every test (ARGS="-k claim" narrows the tests)
	@$(MAKE) --no-print-directory -j 3 lint types layers $(if $(strip $(ARGS)),,compiled)
	@$(if $(strip $(ARGS)),true,.ci/chromium || true)
	@echo "running the tests …"
	@$(BIN)/python -m pytest -n $(TEST_WORKERS) --dist worksteal $(ARGS)

proof: $(VENV)/.developed ## Play the whole proof: model, kills, faults, cuts, time (up to 40 minutes)
	@TENURE_DEPTH=proof $(BIN)/python -m pytest -n $(TEST_WORKERS) --dist worksteal -m proof $(ARGS)

torture: $(VENV)/.fuzzes ## Play the proof again and again for MINUTES=30, from SEED= on (ARGS=--write keeps the sums)
	@$(BIN)/python -m tests.proof.torture --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(ARGS)

lint: $(VENV)/.developed ## Check style and formatting (ruff)
	@$(BIN)/ruff check --quiet . && $(BIN)/ruff format --quiet --check . || { echo "lint: not clean; 'make fmt' repairs what a tool can"; exit 1; }
	@echo "lint: clean"

types: $(VENV)/.developed ## Check types (mypy, strict)
	@$(BIN)/mypy

layers: $(VENV)/.developed ## Check which module may import which (import-linter)
	@$(BIN)/lint-imports --no-cache > $(VENV)/layers.txt || { cat $(VENV)/layers.txt; exit 1; }
	@echo "layers: kept"

# Each of the tests' processes reads all of them: so they are compiled once before, beside what checks them.
compiled: $(VENV)/.developed
	@$(BIN)/python -m pytest --collect-only -qq > /dev/null 2>&1 || true

fmt: $(VENV)/.developed ## Format, and repair what ruff can repair
	@$(BIN)/ruff check --quiet --fix . || true
	@$(BIN)/ruff format .

screenshots: $(VENV)/.developed ## Make the pictures of docs/dashboard.md anew, with a Chromium
	@$(BIN)/python -m tests.dashboard.pages.screenshots

schema: $(VENV)/.developed ## Write down the schema that the migrations add up to
	@$(BIN)/python -m tests.support.dump_schema --write

freeze: $(VENV)/.developed ## Keep stores as this release writes them, for every later one to open (until the first release)
	@$(BIN)/python -m tests.proof.upgrade.freeze

bench: $(VENV)/.developed ## Measure Tenure beside other job queues, in one run of about an hour
	@$(BIN)/python -m bench.peers $(ARGS)

bench-quick: $(VENV)/.developed ## See within 5 minutes whether a change costs speed: store and worker against raw loops
	@began=$$(date +%s) && $(BIN)/python -m bench.store --quick && $(BIN)/python -m bench.worker --quick \
	 && echo "bench-quick: $$(($$(date +%s) - began)) s"

bench-store: $(VENV)/.developed ## Measure the store
	@$(BIN)/python -m bench.store $(ARGS)

bench-worker: $(VENV)/.developed ## Measure the worker
	@$(BIN)/python -m bench.worker $(ARGS)

bench-gateway: $(VENV)/.developed ## Measure the gateway
	@$(BIN)/python -m bench.gateway $(ARGS)

bench-dashboard: $(VENV)/.developed ## Measure the dashboard over a million jobs, and what it costs a worker
	@$(BIN)/python -m bench.dashboard $(ARGS)

bench-layouts: $(VENV)/.developed ## Compare the data layouts behind the schema
	@$(BIN)/python -m bench.layouts $(ARGS)

clean: ## Remove .venv, caches and build output
	@rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.created:
	@command -v $(PYTHON) > /dev/null || { echo "Tenure needs Python 3.11 or newer, and '$(PYTHON)' was not found; name one with 'make PYTHON=…'."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Tenure needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) -V 2>&1); name another with 'make PYTHON=…'."; exit 1; }
	@echo "creating $(VENV) …"
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: pyproject.toml $(VENV)/.created
	@echo "installing Tenure …"
	@$(PIP) install --editable '.[gateway,dashboard]'
	@touch $@

$(VENV)/.developed: pyproject.toml $(VENV)/.installed
	@echo "installing what development needs …"
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["dev"], sep="\n")' > $(VENV)/dev.txt
	@$(PIP) install --requirement $(VENV)/dev.txt
	@touch $@

# A fuzzer that is guided by what it reaches; where there is none for this Python, texts are changed at random only.
$(VENV)/.fuzzes: $(VENV)/.developed
	@$(PIP) install --only-binary :all: 'atheris>=3' 2> /dev/null && touch $@ || echo "torture: no atheris for this Python; it goes without"
