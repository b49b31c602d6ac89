# One folder, .venv, holds everything; a second start finds its stamps and installs nothing.
# The tests install more than a run needs, so each has a stamp of its own.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
HTTP   ?= 127.0.0.1:8090
JOBS   ?= 3

BENCHES := cold_start tool_call gate filling gmail graph

PIP     := $(BIN)/python -m pip --disable-pip-version-check
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
           --no-emit-index-url --no-emit-find-links --no-annotate --no-header --no-strip-extras

# Counts the packages as pip gets to them; without --quiet it would say a hundred lines, with it nothing for a minute.
install = { $(PIP) install --require-hashes -r $(1) || echo "pip failed"; } | awk \
          '/^(Collecting|Requirement already)/ { printf "\r  %d packages", ++n; fflush() } \
           /^Installing collected/ { printf ", installing"; fflush() } \
           /^pip failed$$/ { failed = 1 } END { print failed ? "" : ", done"; exit failed }'

# Scripts in the folder name its place: where it was moved or copied, or its Python is gone, it is made anew.
PLACE := $(shell cat $(VENV)/.run 2>/dev/null)
STALE := $(shell [ ! -e $(VENV)/.run ] || { [ -x $(BIN)/python ] && [ "$(or $(PLACE),$(CURDIR))" = "$(CURDIR)" ]; } || echo yes)

.DEFAULT_GOAL := help
.PHONY: help setup run test mutants peers official-clients lint types contracts check lock bench bench-imap bench-visible docs

help:  ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

setup: $(VENV)/.run  ## install what a run needs, once

run: setup  ## serve the sample mailbox over HTTP (HTTP=host:port)
	@$(BIN)/postroom demo --http $(HTTP) || \
	  { status=$$?; [ $$status -ne 2 ] || echo "Another port: make run HTTP=127.0.0.1:8091" >&2; exit $$status; }

test: $(VENV)/.test  ## run every test
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal $(ARGS)  # byte code saves each process it starts a second

mutants: $(VENV)/.test  ## break the gate in small ways and count what the tests notice (SAMPLE=100 SEED=7 ONLY=store/vault/folder.py)
	@$(BIN)/python -m tests.mutants --jobs $(JOBS) --sample $(or $(SAMPLE),0) --seed $(or $(SEED),7) \
	  --only "$(ONLY)" --threshold $(or $(THRESHOLD),95)

peers:  ## fetch the mail servers and MCP clients that some tests talk to (Debian)
	@.ci/peers

official-clients: $(VENV)/.official-clients  ## install the providers' own clients, which prove our fakes (large)

lint: $(VENV)/.test  ## check style and formatting
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(VENV)/.test  ## check types, strictly
	@$(BIN)/mypy

contracts: $(VENV)/.test  ## check that packages import only downwards
	@$(BIN)/lint-imports

check: lint types contracts test  ## everything a change must pass

bench: $(VENV)/.test  ## measure; see bench/README.md
	@for name in $(BENCHES); do echo "== $$name"; $(BIN)/python bench/$$name.py || exit 1; done

bench-imap: $(VENV)/.test  ## measure over IMAP; needs root, Dovecot and isync
	@$(BIN)/python bench/imap.py

bench-visible: $(VENV)/.test  ## compare with a browser what is read (MAILS=folder ...); needs Chromium
	@$(BIN)/python bench/visible.py $(MAILS)

docs: $(VENV)/.run  ## regenerate the tables of README.md, docs/tools.md and docs/permissions.md
	@$(BIN)/python docs/generate.py

lock: $(VENV)/.run  ## pin the newest versions that fit, with hashes
	@$(PIP) install --quiet uv
	@$(COMPILE) --upgrade pyproject.toml requirements/run.in -o requirements/run.txt
	@$(COMPILE) --upgrade pyproject.toml requirements/run.in requirements/test.in -o requirements/test.txt
	@$(COMPILE) --upgrade requirements/clients.in -o requirements/clients.txt
	@$(COMPILE) --upgrade requirements/official-clients.in -o requirements/official-clients.txt

ifneq ($(STALE),)
.PHONY: $(BIN)/python $(VENV)/.run
endif

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
	  { echo "Postroom needs Python 3.11, 3.12 or 3.13; make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv $(if $(STALE),--clear) $(VENV)

$(VENV)/.run: requirements/run.txt pyproject.toml | $(BIN)/python
	@echo "Installing Postroom into $(VENV) ..."
	@$(call install,requirements/run.txt)
	@$(PIP) install --quiet --no-deps --no-build-isolation -e .
	@echo "$(CURDIR)" > $@

$(VENV)/.test: requirements/test.txt $(VENV)/.run
	@echo "Installing what the tests need ..."
	@$(call install,requirements/test.txt)
	@touch $@

$(VENV)/.official-clients: requirements/official-clients.txt $(VENV)/.test
	@echo "Installing official clients ..."
	@$(call install,requirements/official-clients.txt)
	@touch $@
