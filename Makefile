# Two commands a newcomer needs: `make demo` and `make test`. Both set everything up first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: setup demo test check lock clean

setup: $(READY)

# The lock pins every package with its hash and is complete, so nothing is resolved. Left to resolve, pip takes litellm's
# `httpx[http2]` for another thing than the pinned `httpx` and reaches for a release made after the lock, and an install
# that worked yesterday fails. `pip check` shows that nothing is missing. The Python that is too old says so here, not in
# the middle of an install.
$(READY): pyproject.toml requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "rdforget needs Python 3.11 or newer, this is " + sys.version.split()[0] + ": call make with PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(BIN)/python -m pip check --disable-pip-version-check
	touch $(READY)

demo: setup
	$(BIN)/rdf sweep demo

test: check
	$(BIN)/python -m pytest --numprocesses auto

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Needs uv (`pip install uv`). uv.lock names registry hosts and is not kept; its export does not.
lock:
	uv lock --quiet --upgrade
	uv export --quiet --frozen --no-emit-project --extra dev --format requirements-txt --no-header --no-annotate -o requirements.lock
	rm uv.lock

clean:
	rm -rf $(VENV)
