# Everything runs in a virtual environment that the first target to need it creates.

# PYTHON         interpreter that creates the environment (3.11.4 or later)
PYTHON ?= python3
# VENV           folder of the environment
VENV ?= .venv
# EXTRA_INDEX    further package index; on first install it chooses the build of torch, for example
#                https://download.pytorch.org/whl/cpu or https://download.pytorch.org/whl/cu126
EXTRA_INDEX ?=
# EXTRAS         extras that `make wheel` tries; all, if none is named
EXTRAS ?=
# PYTEST_ARGS    options for pytest, for example PYTEST_ARGS='-k quadratic -x'
PYTEST_ARGS ?=

STAMP := $(VENV)/.fedtheory-installed

# Runs under any Python, however old: its arguments are the interpreter's name and what to do about it.
CHECK_VERSION := import sys; v = sys.version_info; v >= (3, 11, 4) or \
	sys.exit("fedtheory needs Python 3.11.4 or later, but %s is Python %d.%d.%d: %s" % (sys.argv[1], v[0], v[1], v[2], sys.argv[2]))

# Bytecode is kept even where the environment says otherwise: workers, and processes that tests start, read it.
TESTS = OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(VENV)/bin/python -m pytest -n 2 --dist loadfile
# What both goals share, collecting, imports and fixtures, is done once where both are asked for: `make test test-all`.
BOTH := $(and $(filter test,$(MAKECMDGOALS)),$(filter test-all,$(MAKECMDGOALS)))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install verify report figures test test-all wheel frameworks versions data docs lint

help: ## print this text
	@echo 'Targets:'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' Makefile
	@echo 'Variables (make TARGET NAME=value):'
	@awk '/^# [A-Z_]+   / || (on && /^#  /) { sub(/^# /, "  "); print; on = 1; next } { on = 0 }' Makefile

install: $(STAMP) ## install fedtheory and all it needs into the environment

verify: $(STAMP) ## check anew all that is published
	$(VENV)/bin/fedtheory verify

report: $(STAMP) ## write what is known as pages for a browser: report/site/index.html
	$(VENV)/bin/fedtheory report

figures: $(STAMP) ## draw every figure anew, its numbers beside it
	OMP_NUM_THREADS=1 $(VENV)/bin/fedtheory run --all-figures

test: $(STAMP) ## run the quick tests and the examples in the docstrings
	$(TESTS) -m '$(if $(BOTH),,not slow and )not exhaustive' $(PYTEST_ARGS)

test-all: $(STAMP) ## run all other tests; with `make test test-all`, all that are run on every change, in one session
	$(if $(BOTH),,$(TESTS) -m 'slow and not exhaustive' $(PYTEST_ARGS))

wheel: ## build the wheel and try it with each extra in an environment of its own (gigabytes)
	'$(PYTHON)' tests/wheel.py $(if $(EXTRAS),--extras $(EXTRAS))

frameworks: $(STAMP) ## run the tests behind Flower and NVFlare, each in an environment of its own
	OMP_NUM_THREADS=1 $(VENV)/bin/python tests/frameworks.py

versions: ## run ten commands with the lowest versions allowed, and with the newest (gigabytes, in build/)
	'$(PYTHON)' tests/versions.py lowest build/lowest
	'$(PYTHON)' tests/versions.py newest build/newest

docs: $(STAMP) ## build the site, docs and report: build/docs/index.html; a warning or a dead link is an error
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m sphinx -b html -W --keep-going -q docs build/docs
	$(VENV)/bin/fedtheory report --into build/docs/report --docs ..
	$(VENV)/bin/python tests/links.py build/docs

data: $(STAMP) ## download the data sets
	$(VENV)/bin/python -m fedtheory.data.fetch

lint: $(STAMP) ## check style, formatting and types
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

# The stamp is written last: an interrupted installation leaves none, and the next run resumes.
$(STAMP): pyproject.toml constraints.txt
	@rm -f $@
	@if ! $(VENV)/bin/python -m pip --version >/dev/null 2>&1; then \
		command -v '$(PYTHON)' >/dev/null || \
			{ echo 'fedtheory needs Python 3.11.4 or later, but there is no "$(PYTHON)": name one with PYTHON=...' >&2; exit 1; }; \
		'$(PYTHON)' -c '$(CHECK_VERSION)' '$(PYTHON)' 'name another one with PYTHON=...' && \
		'$(PYTHON)' -m venv $(VENV); \
	fi
	@$(VENV)/bin/python -c '$(CHECK_VERSION)' $(VENV)/bin/python \
		'remove $(VENV), or name another folder with VENV=..., and choose an interpreter with PYTHON=...'
	$(VENV)/bin/python -m pip install --disable-pip-version-check \
		$(addprefix --extra-index-url=,$(EXTRA_INDEX)) --constraint constraints.txt --editable '.[test]'
	@touch $@
