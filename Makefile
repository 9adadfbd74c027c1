# The two commands of the README are `make demo` and `make test`; `make help` lists the rest.
# Needs git, make and Python >= 3.11; everything else is installed by tools/environment.py into
# .venv/ and .tools/, and from the Debian or Ubuntu archive where a program is missing.

PYTHON ?= python3
VENV   := .venv/bin
CHECK  ?=

.DEFAULT_GOAL := help
.PHONY: help demo test check lint fmt stubs docs baseline pins environment environment-test clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

demo: environment  ## run real tasks through a federation on this machine, and verify the bill
	@$(VENV)/intertie demo

test: environment-test  ## run everything that CI checks
	@$(VENV)/python -m tools.check

check: environment-test  ## run single checks: make check CHECK="mypy ruff"; without CHECK: list them
	@$(VENV)/python -m tools.check $(if $(CHECK),$(CHECK),--list)

lint: environment-test  ## run the checks that take seconds: style, types, layers, protocol
	@$(VENV)/python -m tools.check --fast

fmt: environment-test  ## format the code and apply safe fixes
	@$(VENV)/ruff check --fix-only --quiet .
	@$(VENV)/ruff format --quiet .

stubs: environment-test  ## regenerate intertie/api from proto/
	@$(VENV)/python -m tools.stubs

docs: environment-test  ## regenerate the generated pages of docs/
	@$(VENV)/python -m tools.generated

baseline: environment-test  ## accept the protocol as it is (needs an ADR, see CONTRIBUTING.md)
	@$(VENV)/python -m tools.protocol baseline

pins:  ## install the newest allowed version of every dependency and pin it for the checks
	@rm -rf .venv tools/constraints.txt
	@$(MAKE) --no-print-directory environment-test
	@{ echo "# Every package of .venv/, so that a new machine gets the same; made by: make pins"; \
	    $(VENV)/pip freeze --exclude-editable --exclude pip; } > tools/constraints.txt

environment:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "Intertie needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 2; }
	@$(PYTHON) tools/environment.py demo

environment-test:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "Intertie needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 2; }
	@$(PYTHON) tools/environment.py test

clean:  ## remove what the build made: environment, tools, caches
	@rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@rm -rf dist build .coverage* *.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
