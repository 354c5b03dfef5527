# A fresh machine needs Python 3.11 or later, its venv module, and make. Everything else is installed here.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
DATA   ?= ../shared/data
OUT    ?= .
BENCH  ?= .venv-bench
# Of `make bench`: names of data sets and of methods, all where empty; further arguments.
SETS    ?=
METHODS ?=
ARGS    ?=

.PHONY: help demo test test-slow check bench bench-classes bench-accuracy bench-committees bench-online bench-rvc bench-filters bench-refine bench-scaling bench-papers bench-guard clean

help:
	@echo "make demo            install, then fit and draw 40,000 rows of a robot arm"
	@echo "make test            the test suite (what continuous integration runs)"
	@echo "make test-slow       the tests that take long"
	@echo "make check           ruff, mypy on the core, and the tests"
	@echo "make bench           ours and its peers, side by side (DATA=folder, SETS=, METHODS=)"
	@echo "make bench-classes   classes, counts and outliers, side by side (DATA=folder, SETS=, METHODS=)"
	@echo "make bench-accuracy  kin40k, protein and heaton_satellite, default arguments (DATA=folder)"
	@echo "make bench-committees  ways to combine and to cut, side by side (DATA=folder)"
	@echo "make bench-online    the sparse online GP, row by row (DATA=folder)"
	@echo "make bench-rvc       local experts on streams, and river's learners (DATA=folder)"
	@echo "make bench-filters   rows a second of a regression filter, and of river's"
	@echo "make bench-refine    means refined to those of the exact GP as rows grow (DATA=folder)"
	@echo "make bench-scaling   cost against rows up to 1.5 million, predictions a second (DATA=folder)"
	@echo "make bench-papers    tables and figures of the papers (DATA=folder, OUT=folder for pictures)"
	@echo "make bench-guard     timing ratios of kernels, BLAS and threads; fails where one is too high"

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[plot,test,check]"
	@touch $@

# torch first and alone: its CPU build, before anything that would ask for a larger one
$(BENCH)/.installed: pyproject.toml
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --upgrade pip
	$(BENCH)/bin/python -m pip install --quiet torch==2.13.0
	$(BENCH)/bin/python -m pip install --quiet --editable ".[bench]"
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/python examples/demo.py

test: $(VENV)/.installed
	$(BIN)/python -m pytest -q -n 2 -m "not slow"

test-slow: $(VENV)/.installed
	$(BIN)/python -m pytest -q -m slow

check: $(VENV)/.installed
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(MAKE) test

bench: $(BENCH)/.installed
	$(BENCH)/bin/python -m benchmarks.harness.driver $(DATA) --tasks regression \
		$(if $(SETS),--sets $(SETS)) $(if $(METHODS),--methods $(METHODS)) $(ARGS)
	$(BENCH)/bin/python -m benchmarks.harness.render benchmarks

bench-classes: $(BENCH)/.installed
	$(BENCH)/bin/python -m benchmarks.harness.driver $(DATA) --tasks classes counts outliers \
		$(if $(SETS),--sets $(SETS)) $(if $(METHODS),--methods $(METHODS)) $(ARGS)
	$(BENCH)/bin/python -m benchmarks.harness.render classification

bench-accuracy: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.accuracy $(DATA)

bench-committees: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.committees $(DATA) --out $(OUT)

bench-online: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.online $(DATA)

bench-rvc: $(BENCH)/.installed
	$(BENCH)/bin/python -m benchmarks.studies.rvc $(DATA)

bench-filters: $(BENCH)/.installed
	$(BENCH)/bin/python -m benchmarks.studies.filters

bench-refine: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.refine $(DATA)

bench-scaling: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.scaling $(DATA)

bench-papers: $(VENV)/.installed
	$(BIN)/python -m benchmarks.papers.tresp2000 $(DATA) --out $(OUT)
	$(BIN)/python -m benchmarks.papers.schwaighofer2002 $(DATA) --out $(OUT)
	$(BIN)/python -m benchmarks.papers.zhu1995 $(DATA) --out $(OUT)
	$(BIN)/python -m benchmarks.papers.edakunni2007 $(DATA) --out $(OUT)

bench-guard: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.guard

clean:
	rm -rf $(VENV) $(BENCH) .pytest_cache .mypy_cache .ruff_cache .hypothesis demo.png
