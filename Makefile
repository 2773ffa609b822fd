# The one way in. Every target sets up what it needs in .venv; nothing is installed outside this folder, but for Chromium,
# which the browser tests need: `make test` installs it when it runs as root on Debian.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo page dashboards screenshots chromium test test-peers lint format bench bench-peers docs clean lint-page

NPM := $(shell command -v npm)
PAGE := src/rl_insight/serve/static/index.html
MODULES := web/node_modules/.package-lock.json

demo: $(STAMP) page
	$(BIN)/rl-insight demo

# The page is built when its sources are newer. Without Node the server runs all the same and says how to get it.
ifdef NPM
page: $(PAGE)

$(MODULES): web/package-lock.json
	cd web && $(NPM) ci --silent
	touch $@

$(PAGE): $(MODULES) $(shell find web/src web/public web/index.html web/vite.config.ts -type f 2>/dev/null)
	cd web && $(NPM) run --silent build -- --logLevel warn

# Pictures of every view, dark and light, of a demo run of its own: docs/pictures/.
screenshots: $(STAMP) page
	BIN=$(BIN) web/tools/screenshots.sh

# Without Node nothing could drive it.
chromium:
	@web/tools/chromium.sh
else
page:
	@echo "no Node here: the page is not built, everything else works. Node 20 or newer builds it." >&2

screenshots chromium: page
endif

# Tests work with real processes on a busy machine: one that fails is run once more, and the summary names it.
test: $(STAMP) page chromium
	$(BIN)/python -m pytest -rsR -n 3 --dist loadfile --reruns 1 $(TESTS)

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
ifdef NPM
	$(MAKE) --no-print-directory lint-page
else
	@echo "no Node here: the page's sources are not checked" >&2
endif

lint-page: $(MODULES)
	cd web && $(NPM) run --silent lint && $(NPM) run --silent check && $(NPM) run --silent test

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Against receivers of others, each in an environment of its own; the first time this installs some 850 MB.
test-peers: $(STAMP)
	RL_INSIGHT_TEST_PEERS=1 $(BIN)/python -m pytest -rs tests/peers

bench: $(STAMP)
	$(BIN)/python -m bench

bench-peers: $(STAMP)
	$(BIN)/python -m bench --peers

# The Grafana dashboards, from tools/dashboards; a test holds that the files are what it makes.
dashboards: $(STAMP)
	$(BIN)/python -m tools.dashboards

docs: $(STAMP)
	$(BIN)/python -m pytest tests/test_docs.py

clean:
	rm -rf $(VENV) .bench-venvs dist build .hypothesis .mypy_cache .ruff_cache .pytest_cache web/node_modules src/rl_insight/serve/static

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --group dev --editable ".[server,demo,ray]"
	touch $@
