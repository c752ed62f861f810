.DEFAULT_GOAL := help
.NOTPARALLEL:

PYTHON ?=
PYTHONS := $(or $(PYTHON),python3.13 python3.12 python3.11 python3)
BIN := .venv/bin
STAMP := .venv/.installed
LOCK := requirements-dev.lock
OLDEST_SPARK := 4.1.1
OLDEST := build/spark-$(OLDEST_SPARK)

# Spark starts its Python workers with `python3` from PATH, and its jars from SPARK_HOME, unless told otherwise.
export PYSPARK_PYTHON := $(CURDIR)/$(BIN)/python
unexport SPARK_HOME

.PHONY: help java install demo test test-matrix slow fuzz check format checkpoints docs docs-update bench bench-peers play-editor wheel lock clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

java:  ## Check that Java 17 or newer is there for Spark
	@sh scripts/check_java.sh

install: $(STAMP)  ## Install Panes and its tools into .venv (PYTHON=... picks the Python)
	@:

demo: java install  ## See Panes at work
	@$(BIN)/panes demo

test: java install  ## Run the tests (ARGS="-k session" passes options to pytest)
	@$(BIN)/python scripts/run_tests.py $(ARGS)

test-matrix: java install  ## Run a dose of the tests on every Spark and on the lowest versions (ARGS="lowest --small" for some)
	@$(BIN)/python scripts/run_matrix.py $(ARGS)

slow: java install  ## Run the slow tests
	@$(BIN)/pytest -m slow $(ARGS)

fuzz: java install  ## Run the slow tests that search for counterexamples
	@$(BIN)/pytest -m slow tests/fuzz tests/queries $(ARGS)

check: install  ## Check format, lint, types, the layers of the rooms and the house rules
	@$(BIN)/ruff format --check
	@$(BIN)/ruff check
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python scripts/check_house.py

format: install  ## Format the code and fix what the linter can
	@$(BIN)/ruff check --fix --exit-zero --quiet
	@$(BIN)/ruff format

checkpoints: java install  ## Make the golden checkpoints that are missing, on the oldest Spark
	@$(BIN)/python scripts/run_matrix.py $(OLDEST_SPARK) --install
	@PYSPARK_PYTHON=$(CURDIR)/$(OLDEST)/bin/python PYTHONPATH=tests $(OLDEST)/bin/python -m state.make

docs: install  ## Make the documentation site in build/site (ARGS=serve shows it while you write)
	@$(BIN)/python scripts/make_site.py $(ARGS)

docs-update: java install  ## Rewrite the outputs in the documentation pages; read the diff
	@$(BIN)/pytest tests/docs --update $(ARGS)

bench: java install  ## Run the benchmarks
	@$(BIN)/python -m benchmarks $(ARGS)

bench-peers: java install  ## Run Panes beside Spark, Flink and others (ARGS="--rows 100000 --rounds 1" for a small run)
	@$(BIN)/python -m benchmarks.peers $(ARGS)

play-editor:  ## Bundle the editor of panes play anew (needs npm; its bundle is committed)
	@cd scripts/play_editor && npm ci --no-audit --no-fund && npm run --silent build

wheel: install  ## Build the sdist and the wheel into dist/
	@rm -rf dist
	@$(BIN)/python -m build --outdir dist .

lock: install  ## Make requirements-dev.lock anew: the newest versions of everything that development needs
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --upgrade --no-annotate --no-emit-package panes \
		--custom-compile-command "make lock" --extra dev pyproject.toml --output-file $(LOCK)

clean:  ## Remove .venv and everything that can be made again
	@rm -rf .venv build dist .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
	@rm -rf spark-warehouse metastore_db derby.log
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml $(LOCK) | $(BIN)/python
	@echo "Installing Panes into .venv; the first time this downloads Spark, several hundred MB."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint $(LOCK) --editable '.[dev]'
	@touch $@

$(BIN)/python:
	@for python in $(PYTHONS); do \
		if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			$$python -m venv .venv || { rm -rf .venv; exit 1; }; \
			exit 0; \
		fi; \
	done; \
	echo "Panes needs Python 3.11 or newer, and none of these is: $(PYTHONS)" >&2; \
	echo "Install one, or name it: make install PYTHON=/path/to/python" >&2; \
	exit 1
