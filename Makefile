# One command each; every target builds what it needs. PYTHON chooses the interpreter.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tiny matrices: threads of the linear algebra library only get in each other's way.
export OMP_NUM_THREADS = 1
export OPENBLAS_NUM_THREADS = 1

.PHONY: demo test check lint smoke docs bench-smoke overhead venv-paper clean

$(VENV)/core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e .
	touch $@

$(VENV)/bench: $(VENV)/core
	$(BIN)/python -m pip install --quiet -e '.[bench]'
	touch $@

$(VENV)/plot: $(VENV)/core
	$(BIN)/python -m pip install --quiet -e '.[plot]'
	touch $@

$(VENV)/dev: $(VENV)/core
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	touch $@ $(VENV)/bench $(VENV)/plot

$(VENV)/docs: $(VENV)/core
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	touch $@

demo: $(VENV)/plot  ## SciPy against tobyqa; then a run that is killed, goes on, reports
	$(BIN)/tobyqa demo
	@echo
	$(BIN)/python examples/crash_demo.py

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: lint  ## the fast part of the tests
	$(BIN)/python -m pytest -q -n 2 tests --ignore=tests/bench

test: lint smoke docs  ## everything
	$(BIN)/python -m pytest -n 2

# What users get, in empty environments and used from outside of the repository (-I:
# nothing else is on the path): the wheel with the oldest numpy and scipy that are
# allowed, the source distribution with the newest.
smoke:  ## wheel and source distribution, built, installed and used
	@set -e; place=$$(mktemp -d); trap 'rm -rf "$$place"' EXIT; unset PYTHONPATH; \
	$(PYTHON) -m venv "$$place/build"; \
	"$$place/build/bin/python" -m pip install --quiet build; \
	"$$place/build/bin/python" -m build --outdir "$$place" . > "$$place/log" 2>&1 \
	  || { cat "$$place/log"; exit 1; }; \
	cp tests/smoke.py tests/oldest.txt "$$place"; cd "$$place"; \
	$(PYTHON) -m venv oldest; \
	oldest/bin/python -m pip install --quiet --constraint oldest.txt ./*.whl; \
	oldest/bin/python -I smoke.py oldest.txt; \
	$(PYTHON) -m venv newest; \
	newest/bin/python -m pip install --quiet ./*.tar.gz; \
	newest/bin/python -I smoke.py

docs: $(VENV)/docs  ## the pages, in site/; warnings are errors
	$(BIN)/python -m sphinx -q -W --keep-going -E -d site/doctrees docs site/html
	@echo "the pages: site/html/index.html"

bench-smoke: $(VENV)/bench  ## a small study: run, tables, report
	$(BIN)/tobyqa bench run smoke --out runs/smoke
	$(BIN)/tobyqa bench report runs/smoke --out runs/smoke/report

overhead: $(VENV)/bench  ## cost per evaluation beside the peers'
	$(BIN)/python benchmarks/overhead.py

# PDFO needs NumPy 1, so the paper's study has an environment of its own.
.venv-paper/done: pyproject.toml
	$(PYTHON) -m venv .venv-paper
	.venv-paper/bin/python -m pip install --quiet --upgrade pip
	.venv-paper/bin/python -m pip install --quiet -e '.[paper]'
	touch $@

venv-paper: .venv-paper/done  ## the environment for the study `paper`

clean:
	rm -rf $(VENV) .venv-paper runs site .pytest_cache .mypy_cache .ruff_cache .hypothesis
