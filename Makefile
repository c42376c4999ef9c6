# Every target sets up what it needs; the only requirements are Python >= 3.10, make and a C++
# compiler. A user's environment is enough for figures; tests and the like need the developer's.
PYTHON ?= python3
PROFILE ?= quick
OPTIONS ?=
FROZEN ?= build/frozen
CHECKED ?= tests/kernels tests/losses tests/solvers tests/algorithms
TESTS ?= tests
LOWEST := build/lowest
UV_INSTALL := uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct
VENV := .venv
BIN := $(VENV)/bin
KERNELS := CMakeLists.txt $(wildcard greedyexp/kernels/*.cpp greedyexp/kernels/*.hpp)
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
# Tests compare the kernels for all processors, and edits should compile what they concern only.
COMPILE := $(BIN)/pip install --quiet --no-build-isolation --editable '.[dev]' \
  --config-settings=cmake.define.GREEDYEXP_VARIANTS=all
PEERS := $(subst [dev],[peers],$(COMPILE))

.PHONY: figure figures paper data kernels test test-deep test-peers test-browser test-lowest test-checked challenge lint audit freeze bench docs licences wheel clean

figure: $(INSTALLED)  ## the main experiment: data, figure and where to find them
	$(BIN)/greedyexp run configs/phase_transition.yaml --profile $(PROFILE)

figures: $(INSTALLED) data  ## every experiment in configs/, in the profile PROFILE, with the options OPTIONS
	$(BIN)/pip install --quiet --editable '.[peers]'
	$(BIN)/greedyexp run configs/*.yaml --profile $(PROFILE) --keep-going $(OPTIONS)

# The manifests then name one commit. After an interruption, the same command continues.
paper:  ## every experiment at the published sizes, from a checkout without changes
	test -z "$$(git status --porcelain --untracked-files=no -- . ':!results')" \
	  || { echo 'Commit the changes first: results must come from one commit.' >&2; exit 2; }
	$(MAKE) figures PROFILE=paper

data: $(INSTALLED)  ## the public data sets that experiments read
	for name in $$($(BIN)/greedyexp data list | cut -d' ' -f1); do \
	  $(BIN)/greedyexp data where $$name > /dev/null 2>&1 || $(BIN)/greedyexp data fetch $$name || exit 1; \
	done

# These tests start hundreds of processes, which would compile the package anew without bytecode.
test: export PYTHONDONTWRITEBYTECODE :=
test: $(READY)  ## the tests, in parallel; a file stays in one process, so that its fixtures are made once
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-deep: $(READY)  ## the slower checks; a process without work takes some of another
	$(BIN)/python -m pytest -n 2 --dist worksteal -m deep

test-peers: $(READY)  ## the algorithms of other packages, which are installed first
	$(PEERS)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m peers

test-browser: $(READY)  ## the pages of `greedyexp report` in Chromium, which must be installed
	$(BIN)/pip install --quiet --group browser
	$(BIN)/python -m pytest -m browser

# The bounds of tools and of what builds the kernels are kept too. Pip cannot resolve to them; uv can.
test-lowest:  ## the tests TESTS with the lowest versions that pyproject.toml allows
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/pip install --quiet uv
	$(LOWEST)/bin/$(UV_INSTALL) --group build
	$(LOWEST)/bin/$(UV_INSTALL) --no-build-isolation-package greedyexp --editable '.[dev]'
	$(LOWEST)/bin/python scripts/lowest.py
	$(LOWEST)/bin/python -m pytest -n 2 --dist loadfile $(TESTS)

# Needs GCC. The usual kernels are installed again at the end.
test-checked: $(READY)  ## the tests of compiled code, with every index and address checked
	$(COMPILE) --no-deps -C build-dir=build/checked -C cmake.define.GREEDYEXP_CHECKED=ON
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0 $(BIN)/python -m pytest $(CHECKED); \
	  status=$$?; $(MAKE) kernels; exit $$status

challenge: $(READY)  ## the supported claims of results/ that cannot fail
	$(BIN)/greedyexp verify --challenge results

lint: $(READY)  ## style, formatting, types, the direction of imports, and the size of packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror greedyexp/kernels/*.cpp greedyexp/kernels/*.hpp
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/python scripts/budget.py

audit: $(READY)  ## known vulnerabilities of the installed packages
	$(BIN)/pip install --quiet pip-audit
	$(BIN)/pip-audit --skip-editable

freeze: $(READY)  ## record the output of the tool in FROZEN, to compare it with a later record
	$(BIN)/python scripts/freeze.py record $(FROZEN)

bench: $(READY)  ## speed ratios against other libraries on one thread, written to docs/performance.md
	$(PEERS)
	$(BIN)/pip install --quiet --group bench
	$(BIN)/python benchmarks/page.py

docs: $(READY)  ## the documentation in build/docs; a warning is an error
	$(BIN)/pip install --quiet --group site
	$(BIN)/sphinx-build -W --keep-going -q -b html docs build/docs

licences: $(READY)  ## docs/licences.md, from what is installed
	$(PEERS)
	$(BIN)/python scripts/licences.py

wheel: $(READY)  ## dist: the source distribution and the wheel that is built from it
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python scripts/distributions.py dist

kernels:  ## compile the kernels that were edited, without installing anything else
	test -e $(READY) || $(MAKE) $(READY)
	$(COMPILE) --no-deps
	touch $(INSTALLED) $(READY)

$(INSTALLED): pyproject.toml $(KERNELS)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable .
	touch $(INSTALLED)

$(READY): pyproject.toml $(KERNELS)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --group build
	$(COMPILE)
	touch $(INSTALLED) $(READY)

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
