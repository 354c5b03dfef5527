# A fresh machine needs Python 3.11 or later, its venv module, and make. Everything else is installed here.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
DATA   ?= ../shared/data
OUT    ?= .
BENCH  ?= .venv-bench
OLDEST ?= .venv-oldest
ENGINES ?= .venv-engines
DOCS    ?= .venv-docs
WORKS  ?= .venv-works
# Options of `make bench`: names of data sets and of methods, all where empty; further arguments.
SETS    ?=
METHODS ?=
ARGS    ?=
# Options of `make fuzz` and `make mutants`: another seed, other tables and faults.
SEED    ?= 0
# Options of `make test-blas`: core types of OpenBLAS, all where empty.
CORES   ?=

# Two workers, each with one thread for BLAS; all tests of a file in one of them, which makes their
# fixtures once; ten failures are enough to read.
test test-slow test-engines test-works-with test-oldest test-python fuzz faults mutants: export OPENBLAS_NUM_THREADS = 1
# Where it is set, every worker and every process of a test compiles all sources again.
unexport PYTHONDONTWRITEBYTECODE
FAST := -q -n 2 --dist loadscope -m "not slow" --maxfail 10

# Every target without a dot or a slash is the name of a job, not of a file.
.PHONY: $(shell sed -n 's/^\([a-z][a-z0-9-]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST)))

help:
	@echo "make demo            install, then fit and draw 40,000 rows of a robot arm"
	@echo "make test            the test suite (eight to nine minutes on two cores)"
	@echo "make test-slow       the tests that take long"
	@echo "make test-engines    engines of Dask, Ray and Spark on clusters of this machine, workers killed"
	@echo "make test-works-with  skpro, sktime, river, MLflow, MAPIE, Optuna, shap, skore, xarray, the real ones"
	@echo "make test-blas       the numerical tests, rounded as other processors round (CORES=names)"
	@echo "make test-oldest     the tests with the oldest supported version of every dependency"
	@echo "make test-python     the tests with Python 3.11 and 3.13 (PYTHON311=, PYTHON313= say where)"
	@echo "make fuzz            random hostile tables, all estimators, ten minutes (SEED=, ARGS=)"
	@echo "make faults          power cuts, kills, flipped bytes and swapped files, one by one (SEED=, ARGS=)"
	@echo "make mutants         faults put into the mathematics one by one: do the tests see them (SEED=)"
	@echo "make lint            ruff and mypy"
	@echo "make check           ruff, mypy and the tests: what continuous integration runs"
	@echo "make wheel           build a wheel into dist/, install it into a fresh environment, import it"
	@echo "make docs            the site, in build/site: pages, API and executed examples (ARGS='-D plot_gallery=0': none run)"
	@echo "make house           the shape of the code in numbers (ARGS='--before other/src/collegium')"
	@echo "make bench           ours and its peers, side by side (DATA=folder, SETS=, METHODS=)"
	@echo "make bench-classes   classes, counts and outliers, side by side (DATA=folder, SETS=, METHODS=)"
	@echo "make bench-accuracy  kin40k, protein and heaton_satellite, default arguments (DATA=folder)"
	@echo "make bench-committees  ways to combine and to cut, side by side (DATA=folder)"
	@echo "make bench-online    the sparse online GP, row by row (DATA=folder)"
	@echo "make bench-rvc       local experts on streams, and river's learners (DATA=folder)"
	@echo "make bench-streams   streams that wander and jump (DATA=folder; ARGS=--long: 10^6 rows)"
	@echo "make bench-forgetting  rates of forgetting, fixed and followed (DATA=folder)"
	@echo "make bench-filters   rows per second of a regression filter, and of river's"
	@echo "make bench-answers   milliseconds per row against error, ours and peers' (DATA=folder, SETS=, METHODS=)"
	@echo "make bench-refine    means refined to those of the exact GP as rows grow (DATA=folder)"
	@echo "make bench-scaling   cost of a fit, 300 to a million rows, with shares of its phases; predictions a second (DATA=folder)"
	@echo "make papers          tables and figures of the papers (DATA=folder, OUT=folder for pictures, ARGS=--quick)"
	@echo "make paper-tresp2000  those of one paper: tresp2000, schwaighofer2002, zhu1995 or edakunni2007 (ARGS='--only fig1')"
	@echo "make bench-coverage  error bars of all regressors on draws from known priors, and where rows are thin (ARGS=--quick, THIN=\"--draws 5\", DATA=folder)"
	@echo "make bench-conformal  intervals with a guarantee beside MAPIE's (DATA=folder, SETS=, ARGS=)"
	@echo "make bench-few       tables of 25 to 600 rows: the averaged model and its peers (DATA=folder, SETS=)"
	@echo "make bench-noise     constant noise, Gaussian and heavy-tailed: what learning its scale costs (ARGS=)"
	@echo "make bench-tables    words, gaps and ids, beside ranks by hand, LightGBM and CatBoost (ARGS=)"
	@echo "make bench-never-behind  two versions of the library, set by set (DATA=folder, OUT=folder, SETS=, ARGS='--against other.jsonl')"
	@echo "make bench-nulls     do trees beside a committee hurt? 200 draws from Gaussian process priors (OUT=folder, ARGS=)"
	@echo "make bench-budgets   errors after 2, 5, 15 and 60 CPU seconds, ours and peers' (DATA=folder)"
	@echo "make bench-priors    trends, seasons, places and groups (DATA=folder, OUT=folder for the picture, ARGS=)"
	@echo "make bench-seasons   seasons and trends found by default, six series (DATA=folder, OUT=folder for the picture, ARGS=)"
	@echo "make bench-modelfile  model files beside pickle, and the first answer of a process (DATA=folder)"
	@echo "make bench-engines   Dask beside threads of this machine, and the memory of the client"
	@echo "make bench-cli       CPU time and memory of commands: --help, 10^7 predictions (ARGS='--rows 1000000')"
	@echo "make bench-scale     rows on disk, 10^6 to 10^8: time, memory, accuracy (ARGS='--rows 100000000 --columns 4 --dask')"
	@echo "make bench-ledger    a ledger of 10^6 rows: rows learnt per second, opening, forgetting (ARGS=)"
	@echo "make gallery         the pictures of docs/plots.md (ARGS='--only map')"
	@echo "make bench-service   the service under load, kills and bad requests (DATA=folder, ARGS='--parts load --seconds 600')"
	@echo "make bench-optimise  Bayesian optimisation, ours and peers': best value against evaluations (ARGS=)"
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

$(ENGINES)/.installed: pyproject.toml
	$(PYTHON) -m venv $(ENGINES)
	$(ENGINES)/bin/python -m pip install --quiet --upgrade pip
	$(ENGINES)/bin/python -m pip install --quiet --editable ".[test,dask,ray,spark]"
	@touch $@

$(DOCS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --upgrade pip
	$(DOCS)/bin/python -m pip install --quiet --editable ".[docs]"
	@touch $@

$(WORKS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(WORKS)
	$(WORKS)/bin/python -m pip install --quiet --upgrade pip
	$(WORKS)/bin/python -m pip install --quiet --editable ".[test,works]"
	@touch $@

# An interpreter by its minor version: as named, then on the path, then one of pyenv's.
interpreter = $(firstword $(foreach path,\
	$(PYTHON3$1) python3.$1 $(wildcard $(HOME)/.pyenv/versions/3.$1.*/bin/python),\
	$(shell $(path) -c "" 2>/dev/null && echo $(path))))
found = test -n "$(call interpreter,$1)" || \
	{ echo "python3.$1 not found: install it or set PYTHON3$1=path"; exit 1; }

$(OLDEST)/.installed: pyproject.toml
	@$(call found,11)
	$(call interpreter,11) -m venv $(OLDEST)
	sed -n 's/^ *"\([A-Za-z-]*\)>=\([0-9.]*\)",$$/\1==\2/p' pyproject.toml > $(OLDEST)/oldest.txt
	$(OLDEST)/bin/python -m pip install --quiet --editable ".[test]" --constraint $(OLDEST)/oldest.txt
	@touch $@

.venv-3.%/.installed: pyproject.toml
	@$(call found,$*)
	$(call interpreter,$*) -m venv .venv-3.$*
	.venv-3.$*/bin/python -m pip install --quiet --upgrade pip
	.venv-3.$*/bin/python -m pip install --quiet --editable ".[test]"
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/python examples/demo.py

test: $(VENV)/.installed
	$(BIN)/python -m pytest $(FAST)

test-slow: $(VENV)/.installed
	$(BIN)/python -m pytest -q -n 2 -m slow

# One process: the tests of an engine share one cluster. Ray listens on every address whatever it
# is told, so they run in a network of their own, which has 127.0.0.1 alone.
test-engines: $(ENGINES)/.installed
	@java -version 2> /dev/null || { echo "Spark needs a JRE: apt-get install default-jre-headless"; exit 1; }
	unshare --map-root-user --net sh -c "ip link set lo up && $(ENGINES)/bin/python -m pytest -q tests/engines"

test-works-with: $(WORKS)/.installed
	$(WORKS)/bin/python -m pytest -q tests/works_with

test-blas: $(VENV)/.installed
	$(BIN)/python tests/blas.py $(CORES)

test-oldest: $(OLDEST)/.installed
	$(OLDEST)/bin/python -m pytest $(FAST)

test-python: .venv-3.11/.installed .venv-3.13/.installed
	.venv-3.11/bin/python -m pytest $(FAST)
	.venv-3.13/bin/python -m pytest $(FAST)

fuzz: $(VENV)/.installed
	PYTHONPATH=tests $(BIN)/python -m fuzz.run --seed $(SEED) $(ARGS)

faults: $(VENV)/.installed
	PYTHONPATH=tests $(BIN)/python -m faults.run --seed $(SEED) $(ARGS)

mutants: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.mutants --seed $(SEED) $(ARGS)

lint: $(VENV)/.installed
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

check: lint
	$(MAKE) test

wheel:
	$(PYTHON) -m venv --clear build/venv
	rm -f dist/collegium-*.whl
	build/venv/bin/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	build/venv/bin/python -m pip install --quiet dist/collegium-*.whl
	cd build && venv/bin/python -c "import collegium; print(collegium.__version__, collegium.CommitteeRegressor())"
	build/venv/bin/collegium --version

# Warnings are errors, and names that nothing is known of are warnings. Two examples at a time.
docs: $(DOCS)/.installed
	OPENBLAS_NUM_THREADS=1 $(DOCS)/bin/python -m sphinx -W --keep-going -n -q -b html $(ARGS) docs build/site
	$(DOCS)/bin/python docs/_site/offline.py build/site

house: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.house $(ARGS)

bench: $(BENCH)/.installed
	$(BENCH)/bin/python -m benchmarks.harness.driver $(DATA) --tasks regression \
		$(if $(SETS),--sets $(SETS)) $(if $(METHODS),--methods $(METHODS)) $(ARGS)
	$(BENCH)/bin/python -m benchmarks.harness.render benchmarks
	$(BENCH)/bin/python -m benchmarks.harness.front

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

bench-streams: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.streams $(DATA) $(ARGS)

bench-forgetting: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.forgetting $(DATA) $(ARGS)

bench-filters: $(BENCH)/.installed
	$(BENCH)/bin/python -m benchmarks.studies.filters

bench-answers: $(BENCH)/.installed
	$(BENCH)/bin/python -m benchmarks.studies.answers $(DATA) --picture docs/pictures \
		$(if $(SETS),--sets $(SETS)) $(if $(METHODS),--methods $(METHODS)) $(ARGS)

bench-refine: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.refine $(DATA)

bench-scaling: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.scaling $(DATA)

papers: paper-tresp2000 paper-schwaighofer2002 paper-zhu1995 paper-edakunni2007

paper-tresp2000 paper-schwaighofer2002 paper-zhu1995 paper-edakunni2007: paper-%: $(VENV)/.installed
	$(BIN)/python -m benchmarks.papers.$* $(DATA) --out $(OUT) $(ARGS)
	$(BIN)/python -m benchmarks.papers.pages

bench-coverage: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.coverage $(ARGS)
	$(BIN)/python -m benchmarks.studies.coverage_thin --data $(DATA) $(THIN)

bench-conformal: $(BENCH)/.installed
	$(BENCH)/bin/python -m benchmarks.studies.conformal $(DATA) $(if $(SETS),--sets $(SETS)) $(ARGS)

bench-few: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.few_rows $(DATA) $(if $(SETS),--sets $(SETS)) $(ARGS)

bench-noise: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.noises $(ARGS)

bench-tables: $(BENCH)/.installed
	$(BENCH)/bin/python -m benchmarks.studies.tables $(ARGS)

bench-never-behind: $(BENCH)/.installed
	$(BENCH)/bin/python -m benchmarks.studies.never_behind $(DATA) --out $(OUT)/never_behind.jsonl \
		$(if $(SETS),--sets $(SETS)) $(if $(METHODS),--methods $(METHODS)) $(ARGS)

bench-nulls: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.nulls --out $(OUT)/nulls.json $(ARGS)

bench-budgets: $(BENCH)/.installed
	$(BENCH)/bin/python -m benchmarks.studies.budgets $(DATA) --picture docs/pictures $(ARGS)

bench-priors: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.priors $(DATA) --out $(OUT) $(ARGS)

bench-seasons: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.seasons $(DATA) --out $(OUT) $(ARGS)

bench-modelfile: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.modelfile $(DATA)

bench-engines: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.engines $(ARGS)

bench-scale: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.scale $(ARGS)

bench-ledger: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.ledger $(ARGS)

bench-service: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.service $(DATA) $(ARGS)

bench-optimise: $(BENCH)/.installed
	$(BENCH)/bin/python -m benchmarks.studies.optimise --picture docs/pictures $(ARGS)

gallery: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.gallery $(ARGS)

bench-cli: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.command_line $(ARGS)

bench-guard: $(VENV)/.installed
	$(BIN)/python -m benchmarks.studies.guard

clean:
	rm -rf $(VENV) $(BENCH) $(OLDEST) $(ENGINES) $(DOCS) $(WORKS) .venv-3.* .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist demo.png docs/gallery docs/api
