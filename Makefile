# Words: demo test lint bench bench-accuracy validate docs man packages fuzz soak soak-collectl clean. Each makes the environment .venv by itself.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN    := .venv/bin

.PHONY: demo test lint bench bench-accuracy validate docs man packages fuzz soak soak-collectl clean

demo: .venv/ready-demo
	$(BIN)/python -m lnetstat.demo

# A file at a time on two processes; `python -m pytest FILE` is one process.
test: .venv/ready
	$(BIN)/python -m pytest -n 2 --dist loadfile --max-worker-restart 0

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	collectors/collectl/lint.sh

bench: .venv/ready
	$(BIN)/python bench/run.py

# Writes the tables of docs/analysis.md: some twenty minutes. FTIO=PYTHON, one that has ftio-hpc, adds FTIO.
bench-accuracy: .venv/ready
	$(BIN)/python bench/accuracy/run.py $(if $(FTIO),--ftio $(FTIO))

# Simulates every preset and writes docs/simulator-validation.md: some ten minutes.
validate: .venv/ready
	$(BIN)/python bench/validate.py

fuzz: .venv/ready
	$(BIN)/python bench/fuzz.py

# Half an hour of faults against real processes, and the table of what was lost (docs/faults.md).
soak: .venv/ready
	$(BIN)/python -m bench.soak

# Ten minutes of real collectl with the plug-ins while Carbon is killed and comes back.
soak-collectl: .venv/ready
	$(BIN)/python -m bench.soak_collectl

docs: .venv/ready
	$(BIN)/python -m lnetstat tables --markdown > docs/columns.md
	$(BIN)/python -m lnetstat.simulator.keys_page > docs/simulator-keys.md
	$(BIN)/python -m lnetstat.analysis.findings_page > docs/findings.md
	$(BIN)/python -m lnetstat dashboards build --to dashboards
	$(BIN)/python -m lnetstat.dashboards.page > docs/dashboards.md
	$(BIN)/python -m lnetstat.cli._reference docs
	$(BIN)/python collectors/collectl/generate.py
	$(BIN)/python -m lnetstat.cli._links .

# Man pages into build/man; the packages bring theirs.
man: .venv/ready
	$(BIN)/python -m lnetstat.cli._man build/man

# For nodes, into build/: Debian; Fedora and RHEL 10; RHEL 8 and 9. Needs dpkg-deb and rpmbuild.
packages: .venv/ready
	for kind in deb rpm rpm-el; do $(BIN)/python packaging/build.py $$kind --to build || exit; done

# Only what the demo needs: no test tools.
.venv/ready-demo: setup.cfg pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[all]'
	touch $@

.venv/ready: setup.cfg pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@ .venv/ready-demo

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "lnetstat needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv .venv

clean:
	rm -rf .venv build *.egg-info demo
