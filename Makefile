# Every check that CI makes is a target here. PYTHON is the interpreter that has `.[test]` installed:
# the active virtual environment's, else .venv's.

ifdef VIRTUAL_ENV
PYTHON ?= $(VIRTUAL_ENV)/bin/python
else
PYTHON ?= $(if $(wildcard .venv/bin/python),.venv/bin/python,python3)
endif

# Scripts of packages that cannot run as `python -m` live beside the interpreter.
BIN := $(dir $(shell $(PYTHON) -c "import sys; print(sys.executable)"))
JOBS ?= $(shell nproc)

.DEFAULT_GOAL := help
.PHONY: help check quick style lint types layers lit test every touches docs gallery wheel format clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The order is cheapest first; pytest is last, so that its closing line ends the output. Types and the wheel take one
# core each, half a minute long, so they run beside each other.
check: style lint layers  ## everything that CI checks
	@$(MAKE) --no-print-directory -j2 PYTHON=$(PYTHON) types wheel
	@$(MAKE) --no-print-directory PYTHON=$(PYTHON) lit test

quick: style lint layers types lit  ## what the changed files need, in two minutes; SINCE=COMMIT says since when
	$(PYTHON) tests/quick.py $(if $(SINCE),--since $(SINCE))

style:  ## formatting, without changing files
	$(PYTHON) -m ruff format --check .

lint:  ## ruff's rules
	$(PYTHON) -m ruff check .

types:  ## mypy, strict, on the package
	@mkdir -p build/types && ln -sfn ../.. build/types/warpfold
	cd build/types && $(abspath $(BIN))/python -m mypy --config-file ../../pyproject.toml -p warpfold

layers:  ## imports point one way
	$(BIN)lint-imports --no-logo

lit:  ## dialect and pass tests (FileCheck)
	$(BIN)lit --quiet -j $(JOBS) dialect_tests

test:  ## pytest, without slow tests of which others run every function
	$(PYTHON) -m pytest -n $(JOBS) --spare tests

every:  ## pytest, all tests
	$(PYTHON) -m pytest -n $(JOBS) tests

touches:  ## record which functions each test runs, by which quick and the mutants choose tests
	PYTHONPATH=tests $(PYTHON) -m pytest -p touches --touches tests/data/touches.xz -q -n $(JOBS) tests

docs:  ## build the pages as a site into build/site
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --quiet

gallery:  ## write docs/pages
	$(PYTHON) tests/gallery.py

wheel:  ## build the wheel, check what it holds, import it in a clean environment
	$(PYTHON) tests/wheel.py

format:  ## rewrite files in the project's format, with the lint fixes that are safe
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

clean:  ## remove what builds and checks leave behind
	rm -rf build dist warpfold.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
