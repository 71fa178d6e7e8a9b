# make          environment, then help      make test      the project's own tests
# make bench    the default benchmarks      make test-all  with all cases and full simulations
# make lint     ruff, mypy, import-linter   make weight    lines and words, beside their limits
# make sparse   adds torch_scatter and torch_sparse, compiled from source in about 11 minutes, once;
#               make sparse test runs their tests too, which are skipped elsewhere
# make site     docs/ as a site in site/, with all links checked
# make dist     wheel and source distribution, in dist/; the version is the tag
#
# SPARSE_WHEELS=...  folder or page of wheels from which make sparse takes them instead of compiling
# ARGS=...           goes to pytest

PYTHON ?= python3
VENV   ?= .venv
ARGS   ?=
GITHUB ?= .github
SPARSE_WHEELS ?=

python  := $(VENV)/bin/python
pip     := $(python) -m pip
install := $(pip) install --disable-pip-version-check --progress-bar off -c constraints.txt
say     := @printf '==> %s\n'
base    := $(VENV)/.installed
develop := $(VENV)/.installed-develop
sparse  := $(VENV)/.installed-sparse
release := $(VENV)/.installed-release
site    := $(VENV)/.installed-site

# Without bytecode on disk, each process that a test starts would compile the package again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help environment tools sparse test test-all bench counters lint lint-workflows weight site dist baseline-pull-request clean

help: $(base)
	@sed -n '/^$$/q; s/^# \{0,1\}//p' Makefile
	@$(VENV)/bin/gnnbench doctor

environment: $(base)

# What test, lint, dist and site need, so that they can run side by side afterwards.
tools: $(develop) $(release) $(site)

sparse: $(sparse)

# torch first: what builds against it must find the version that will run it.
$(base): pyproject.toml constraints.txt
	$(say) "environment 1/3: a virtual environment in $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "gnnbench needs Python 3.11 or newer: make PYTHON=python3.11")'
	@test -x $(python) || $(PYTHON) -m venv $(VENV)
	$(say) "environment 2/3: torch, a few hundred megabytes"
	@$(install) torch setuptools wheel ninja
	$(say) "environment 3/3: gnnbench with PyG, DGL and ogb"
	@$(install) -e '.[pyg,dgl]'
	@touch $@

$(develop): $(base)
	$(say) "the tools of tests and lint"
	@$(install) -e '.[all,dev]'
	@touch $@

wheels := --no-build-isolation
ifneq ($(SPARSE_WHEELS),)
wheels := --find-links '$(SPARSE_WHEELS)' --only-binary torch_scatter,torch_sparse
endif

$(sparse): $(base)
	$(say) "torch_scatter, then torch_sparse, $(if $(SPARSE_WHEELS),from $(SPARSE_WHEELS),from source: about 11 minutes the first time)"
	@MAX_JOBS=$${MAX_JOBS:-$$(nproc 2>/dev/null || echo 2)} $(install) $(wheels) torch_scatter torch_sparse
	@touch $@

# Neither torch nor the development tools: dependency groups, which pip takes since 25.1.
$(release): pyproject.toml constraints.txt
	$(say) "the tools of make dist"
	@test -x $(python) || $(PYTHON) -m venv $(VENV)
	@$(install) 'pip>=25.1'
	@$(install) --group release
	@touch $@

$(site): pyproject.toml constraints.txt
	$(say) "the tools of make site"
	@test -x $(python) || $(PYTHON) -m venv $(VENV)
	@$(install) 'pip>=25.1'
	@$(install) --group site -e '.[report]'
	@touch $@

test: $(develop)
	$(say) "tests, three at a time, as they wait for a third of their time"
	@$(python) -m pytest -n 3 --dist worksteal $(ARGS)

test-all: $(develop)
	$(say) "all tests, three at a time"
	@$(python) -m pytest -n 3 --dist worksteal -m 'nightly or not nightly' -o testpaths='tests examples/mhaug/tests' $(ARGS)

bench: $(base)
	$(say) "benchmarks: the default ones, about four minutes, one line each; ARGS=--gnn-all runs all; results also in .benchmarks/latest.json"
	@$(python) -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec("torch_sparse"))' || \
	    printf '==> %s\n' "without the rows of torch_sparse: 'make sparse' compiles it once, in about 11 minutes"
	@mkdir -p .benchmarks
	@$(python) -m pytest benchmarks --gnn-time 4min --benchmark-json=.benchmarks/latest.json $(ARGS)

# Their operations need a graph with relations.
relational := benchmarks/test_hetero.py benchmarks/test_rgcn_conv.py

counters: $(base)
	$(say) "what each benchmark does, against baselines/counters: a minute or two"
	@$(python) -m pytest benchmarks --gnn-all --gnn-counters --gnn-strict --gnn-dataset cora -n 2 $(ARGS)
	@$(python) -m pytest $(relational) --gnn-all --gnn-counters --gnn-strict --gnn-dataset aifb:synthetic -n 2 $(ARGS)

lint: lint-workflows $(develop)
	$(say) "ruff, mypy and import-linter"
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports --no-logo
	@$(python) .ci/weight.py
	@$(python) .ci/face.py

weight: $(base)
	@$(python) .ci/weight.py

# The schemas are GitHub's, and that each job has a time limit; of zizmor all that it finds without asking GitHub.
lint-workflows: $(develop)
	$(say) "workflows: schemas and zizmor"
	@$(VENV)/bin/check-jsonschema --builtin-schema vendor.github-workflows $(GITHUB)/workflows/*.yml
	@$(VENV)/bin/check-jsonschema --builtin-schema custom.github-workflows-require-timeout $(GITHUB)/workflows/*.yml
	@$(VENV)/bin/check-jsonschema --builtin-schema vendor.dependabot $(GITHUB)/dependabot.yml
	@$(VENV)/bin/check-jsonschema --builtin-schema vendor.github-actions action.yml
	@$(VENV)/bin/zizmor --quiet --offline --no-progress --persona=auditor --strict-collection $(GITHUB) action.yml

# Strict: a link to a page, a heading or a file that is not there fails.
site: $(site)
	$(say) "docs/ as a site in site/"
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet

dist: $(release)
	$(say) "wheel and source distribution, checked"
	@rm -rf dist
	@$(python) -m build --outdir dist .
	@$(VENV)/bin/twine check --strict dist/*
	@$(VENV)/bin/check-wheel-contents dist/*.whl

baseline-pull-request:
	@.ci/baseline-pull-request

clean:
	rm -rf $(VENV) dist site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks
