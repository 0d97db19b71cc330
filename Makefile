PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml CMakeLists.txt $(shell find src cpp -type f -not -name '*.pyi' -not -path '*/__pycache__/*')
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Two workers, a file to each: fixtures such as the site or Spark are made once. Each has one thread.
WORKERS := -n 2 --dist loadfile --no-loadscope-reorder
export OMP_NUM_THREADS = 1
export OPENBLAS_NUM_THREADS = 1
export CALIBRANT_THREADS = 1
# What is compiled once is kept: tests start many processes.
unexport PYTHONDONTWRITEBYTECODE
# Debian's programs are fetched while Python's packages are.
MAKEFLAGS += --jobs=2
# Benchmarks write their pages with BENCH=--write.
BENCH ?=
# Tests that need extensions of DuckDB; these hold DuckDB back, so they run with one of their own.
DATABASES := tests/data/test_databases.py
# What the lowest and the newest dependencies are tried on.
VERSIONED := tests/data tests/inputs tests/joint tests/cli tests/llm tests/_base/test_exit_codes.py
# CI sets NOTHING_LEFT_OUT=1: a test whose program cannot be had is then an error.
LEAVE_OUT := $(if $(NOTHING_LEFT_OUT),--leave-nothing-out)

.PHONY: help demo dev test tests programs lint style types slow bench bench-scale bench-recalibration bench-groups bench-classes bench-peers newest oldest soak sanitize mutants docs picture flights clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1	/' | expand -t 22

demo: $(VENV)/installed ## Install into .venv and audit the forecasts that ship
	@$(BIN)/calibrant demo

# Style and types look at an install for editing where there is one, and leave it in place.
INSTALLED = $(if $(wildcard build/editable),$(VENV)/packages,$(VENV)/developing)

# What builds the kernels, for a build that is kept between edits.
BUILDERS := "scikit-build-core>=0.11" "nanobind>=3.0" "nanobind-backend>=1.0" cmake ninja

dev: $(VENV)/packages ## Install for editing: Python is used as it stands, C++ after another make dev
	$(PIP) $(BUILDERS)
	$(PIP) --no-build-isolation -C build-dir=build/editable --editable .
	@rm -f $(VENV)/installed $(VENV)/developing

test: types tests ## Every test, lint, type check and doctest, against the installed wheel

# Types are checked while the tests are collected.
tests: style programs build/databases/made $(INSTALLED)
	$(BIN)/python -m pytest $(WORKERS) $(LEAVE_OUT) --ignore $(DATABASES)
	PYTHONPATH=build/databases $(BIN)/python -m pytest $(LEAVE_OUT) $(DATABASES)
	$(BIN)/python -m pytest $(WORKERS) --doctest-modules --doctest-glob='*.md' --pyargs calibrant docs README.md

programs: $(VENV)/bin/python
	$(BIN)/python tests/programs.py

lint: style types ## Style, imports and types

style: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

types: $(INSTALLED)
	cp $$(find $(VENV) -name _kernels.pyi -print -quit) src/calibrant/
	$(BIN)/mypy

slow: $(VENV)/developing ## Size of tests by simulation, and laws on many more examples
	EXAMPLES=400 $(BIN)/python -m pytest -n 2 -m slow --ignore $(DATABASES)
	EXAMPLES=400 $(BIN)/python -m pytest $(WORKERS) --ignore $(DATABASES)

bench: $(VENV)/developing ## Speed and memory beside a sort, answers asserted
	$(BIN)/python benchmarks/run.py $(BENCH)
	$(BIN)/python benchmarks/online.py $(BENCH)

bench-scale: $(VENV)/developing ## Rows on engines beside the bare group-by
	$(BIN)/python benchmarks/scale.py $(BENCH)
	$(BIN)/python benchmarks/logs.py

bench-recalibration: $(VENV)/developing ## Calibrators beside a sort and beside other libraries
	$(BIN)/python benchmarks/recalibration.py $(BENCH)

bench-groups: $(VENV)/developing ## Boosted multicalibration beside MCGrad, omnipredictors beside one model a loss
	$(BIN)/python benchmarks/multicalibration.py $(BENCH)
	$(BIN)/python benchmarks/omniprediction.py $(BENCH)

bench-classes: $(VENV)/developing ## Measures of many classes beside other libraries
	$(BIN)/python benchmarks/classes.py --peers $(BENCH)

bench-peers: $(VENV)/developing ## The same beside other libraries, each in an environment of its own
	$(BIN)/python benchmarks/peers.py --write $(PEERS)

newest: build/wheel/made ## Reading and commands with the newest dependencies, in an environment made anew
	rm -rf build/newest && $(PYTHON) -m venv build/newest
	build/newest/bin/python -m pip install --quiet --upgrade pip
	build/newest/bin/python -m pip install --quiet build/wheel/*.whl --group test
	build/newest/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager build/wheel/*.whl
	build/newest/bin/calibrant demo
	build/newest/bin/python -m pytest $(WORKERS) $(VERSIONED) --ignore $(DATABASES)

# Spark 4.0 leaves sockets to the garbage collector.
oldest: build/wheel/made ## The same with the lowest versions that pyproject.toml allows
	rm -rf build/oldest && $(PYTHON) -m venv build/oldest
	build/oldest/bin/python -m pip install --quiet --upgrade pip
	$(PYTHON) tools/oldest.py > build/oldest/constraints.txt
	build/oldest/bin/python -m pip install --quiet build/wheel/*.whl --group test --constraint build/oldest/constraints.txt
	build/oldest/bin/calibrant demo
	build/oldest/bin/python -m pytest $(WORKERS) -W "ignore:unclosed <socket:ResourceWarning" $(VERSIONED) --ignore $(DATABASES)

soak: $(VENV)/developing ## Random commands, files, kills and full disks for SOAK_MINUTES (20); nothing may be lost
	$(BIN)/python tools/soak.py

sanitize: $(VENV)/developing ## Kernels under the address and undefined-behaviour sanitizers
	tools/sanitize.sh

mutants: $(VENV)/developing ## Break the kernels line by line; the tests must notice
	$(BIN)/python tools/mutants.py

docs: $(VENV)/developing ## Build the documentation site into build/docs, warnings as errors
	$(BIN)/sphinx-build -q -E -W --keep-going -b html docs build/docs

picture: $(VENV)/developing ## Draw the pictures of README and docs again
	$(BIN)/python docs/draw_report.py
	$(BIN)/python docs/draw_verdicts.py
	$(BIN)/python docs/draw_distances.py
	$(BIN)/python docs/draw_how.py
	$(BIN)/python docs/draw_measures.py
	$(BIN)/python docs/draw_noise_floors.py
	$(BIN)/python docs/write_tables.py

flights: ## Rebuild the forecasts that ship and compare
	tools/check_flights.sh $(PYTHON)

clean: ## Remove what was built
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache src/calibrant/_kernels.pyi

$(VENV)/bin/python:
	tools/prepare_system.sh $(PYTHON)
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip

$(VENV)/installed: $(VENV)/bin/python $(SOURCES)
	$(PIP) -C cmake.define.CALIBRANT_WERROR=ON .
	@touch $@

# The kernels are compiled while other packages are fetched.
build/wheel/made: $(VENV)/bin/python $(SOURCES)
	rm -rf build/wheel && mkdir -p build/wheel
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps \
		-C cmake.define.CALIBRANT_WERROR=ON --wheel-dir build/wheel .
	@touch $@

# Of these packages a small part is ever imported: Python compiles that part when it first is.
$(VENV)/packages: $(VENV)/bin/python pyproject.toml
	$(PIP) --no-compile --group dev
	@touch $@

build/databases/made: $(VENV)/bin/python pyproject.toml
	rm -rf build/databases
	$(PIP) --target build/databases --group databases
	@touch $@

$(VENV)/developing: build/wheel/made $(VENV)/packages
	$(PIP) build/wheel/*.whl
	$(PIP) --no-deps --force-reinstall build/wheel/*.whl
	@touch $(VENV)/installed $@
