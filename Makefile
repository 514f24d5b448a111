# Each target sets up what it needs in .venv by itself; nothing has to be prepared.
#   make demo    watch an agent work, get killed, and resume
#   make test    lint, format check, types, tests
#   make lint    lint, format check, types
#   make format  rewrite the sources in the house format
#   make bench   measure

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.DEFAULT_GOAL := test
.PHONY: demo test lint format bench clean

demo: $(READY)
	$(BIN)/python demo/run.py

test: lint
	$(BIN)/python -m tests.peers
	$(BIN)/pytest -q --numprocesses auto --dist loadfile

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache

# The stamp is newer than pyproject.toml when the environment has all that it names.
$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[all,dev]'
	$(BIN)/python -m compileall -q src  # which an environment may forbid each run to do for itself
	@touch $@
