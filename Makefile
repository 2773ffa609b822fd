# The one way in. Every target sets up what it needs in .venv; nothing is installed outside this folder.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test lint format bench bench-peers docs clean

demo: $(STAMP)
	$(BIN)/rl-insight demo

test: $(STAMP)
	$(BIN)/python -m pytest $(TESTS)

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)
	$(BIN)/python -m bench

bench-peers: $(STAMP)
	$(BIN)/python -m bench --peers

docs: $(STAMP)
	$(BIN)/python -m pytest tests/test_docs.py

clean:
	rm -rf $(VENV) .bench-venvs dist build .hypothesis .mypy_cache .ruff_cache .pytest_cache

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --group dev --editable ".[server,demo]"
	touch $@
