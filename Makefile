# Everything here sets itself up: make, Python 3.11 or newer and a network are all that is assumed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export HF_HUB_OFFLINE := 1
export NO_MKDOCS_2_WARNING := 1
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
# One version of torch for every test run; named beside what needs it, so that no resolver picks another.
TORCH := torch==2.13.0

.PHONY: help demo test test-fast lint bench picture docs clean

help:  ## this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 12

demo: $(VENV)/.core  ## train a small policy with a fault, record it, diagnose it
	$(BIN)/rlprobe demo

test: $(VENV)/.trl lint  ## everything, real trainers included
	$(BIN)/python -m pytest -n 2 --dist loadgroup

test-fast: $(VENV)/.dev  ## all that takes under a second each; needs no torch
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow and not trl"

lint: $(VENV)/.dev  ## style, types, arrows between packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev  ## the doctor on real runs, the lab and healthy noise
	$(BIN)/python -m bench.doctor

picture: $(VENV)/.core  ## the README's picture, text and numbers, made anew
	$(BIN)/python -m bench.picture docs/diagnosis.svg
	$(BIN)/python -m bench.readme

docs: $(VENV)/.docs  ## the site, into site/; builds offline, then looks for dead links and foreign loads
	$(BIN)/python -m mkdocs build --quiet
	$(BIN)/python -m website.check site

$(VENV)/.core: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "make: expected Python 3.11 or newer, got $$($(PYTHON) --version). Name one: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -e .
	touch $@

$(VENV)/.docs: $(VENV)/.core
	$(BIN)/python -m pip install --quiet -e ".[docs]"
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/python -m pip install --quiet -e ".[dev]"
	touch $@

$(VENV)/.trl: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet $(TORCH) -e ".[dev,trl]"
	touch $@

clean:  ## remove the virtual environment and every cache
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
