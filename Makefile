# Everything here sets itself up: make, Python 3.11 or newer and a network are all that is assumed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export HF_HUB_OFFLINE := 1
export OMP_NUM_THREADS := 1
# One version of torch for every test run; named beside what needs it, so that no resolver picks another.
TORCH := torch==2.13.0

.PHONY: demo test test-fast lint bench picture clean

demo: $(VENV)/.core  ## train a small policy with a fault, record it, diagnose it
	$(BIN)/rlprobe demo

test: $(VENV)/.dev lint  ## everything, real trainers included
	$(BIN)/python -m pytest -n 2 --dist loadgroup

test-fast: $(VENV)/.dev  ## under a minute
	$(BIN)/python -m pytest -n 2 -m "not slow and not trl"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev  ## the doctor on the real runs, the lab and healthy noise
	$(BIN)/python -m bench.doctor

picture: $(VENV)/.core  ## the diagnosis shown in the README
	$(BIN)/python -m bench.picture docs/diagnosis.svg

$(VENV)/.core: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e .
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/python -m pip install --quiet $(TORCH) -e ".[dev,trl]"
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
