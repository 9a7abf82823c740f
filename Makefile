# make demo | test | test-quick | test-long | check | docs | bench | bench-peers | fuzz MINUTES=30 INPUTS=100000 | test-all-pythons | dev | format | clean
# PYTHON=... chooses the interpreter a new environment is made from, VENV=... where it lies.

VENV ?= .venv
MINUTES ?= 30
# Hostile texts, and mutated texts of IR, that `fuzz` makes.
INPUTS ?= 100000
# Worker processes of the test suite.
JOBS ?= auto
# Tests of what compiled programs do, which run on the NumPy backend, too; all tests run on the default one. The others
# run no program, as test_rules, or choose the backend themselves, as those of the NumPy backend itself.
ON_NUMPY := $(addprefix tests/,nn optim primitives programs property) --ignore=tests/primitives/test_rules.py
PYTHONS ?= python3.11 python3.12 python3.13
# Files that start with "_" are parts of other benchmarks.
BENCHMARKS ?= $(filter-out benchmarks/_%,$(wildcard benchmarks/*.py))

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: demo test test-quick test-long check docs bench bench-peers fuzz test-all-pythons dev format clean
.DELETE_ON_ERROR:
# The suite starts some hundred interpreters, and each of its workers reads all tests: bytecode is kept.
unexport PYTHONDONTWRITEBYTECODE

demo: $(VENV)/.installed-examples
	@$(BIN)/python examples/digits.py

test: $(VENV)/.installed-test,examples $(VENV)/.programs
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal
	@AC_BACKEND=numpy $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal $(ON_NUMPY)

# The inner loop: tests of what changed since main, and a few of all others, for a minute and a half.
test-quick: $(VENV)/.installed-test,examples $(VENV)/.programs
	@$(BIN)/python -m pytest -q -n $(JOBS) --quick

# Before a release: all cases of all tests, on either backend.
test-long: $(VENV)/.installed-test,examples $(VENV)/.programs
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal --long
	@AC_BACKEND=numpy $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal --long $(ON_NUMPY)

check: dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/size_report.py
	$(BIN)/python tools/duplicates.py
	$(BIN)/python tools/foreign_text.py
	$(BIN)/python tools/check_docs.py
	$(BIN)/python tools/checks_page.py --check
	$(BIN)/python tools/ascend_page.py --check
	$(BIN)/python tools/native_page.py --check
	$(BIN)/python tools/ops_table.py --check
	$(BIN)/python tools/rooms_picture.py --check
	$(MAKE) --no-print-directory docs

# The documentation as a site, in site/; nothing is fetched, and a link that leads nowhere is an error.
docs: $(VENV)/.installed-docs
	@echo "building the site; this takes about 40 seconds, most of them without a word"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

bench: $(VENV)/.installed-bench
	@for file in $(BENCHMARKS); do echo "== $$file"; $(BIN)/python $$file || exit 1; done

# The same work here, in JAX, torch, autograd, numba and NumPy. ARGUMENTS="--only mlp --rounds 5" chooses.
bench-peers: $(VENV)/.installed-bench
	@$(BIN)/python -m benchmarks.peers $(ARGUMENTS)

# Hostile texts and broken IR through all that reads and writes text; random programs in all modes, with fresh seeds, until
# the time is over, what fails is in fuzz_findings; mutated IR on the native backend, between pages that nobody may touch.
fuzz: $(VENV)/.installed-test,examples
	@$(BIN)/python -m tests.property.hostile --inputs $(INPUTS)
	@$(BIN)/python -m tests.property.fuzz --minutes $(MINUTES)
	@$(BIN)/python -m tests.property.mutations --inputs $(INPUTS) --start $$(date +%s)

# Those of PYTHONS that run here. With pyenv: PYENV_VERSION=3.11.7:3.12.1:3.13.0 make test-all-pythons
test-all-pythons:
	@ran=; missing=; for python in $(PYTHONS); do \
	    if ! "$$python" -c '' 2>/dev/null; then missing="$$missing $$python"; continue; fi; \
	    echo "== $$python"; ran="$$ran $$python"; \
	    $(MAKE) --no-print-directory test PYTHON="$$python" VENV=".venv-$$("$$python" -c \
	        'import sys; print("%d.%d" % sys.version_info[:2])')" || exit 1; \
	done; \
	[ "$$ran" ] || { echo "error: none of these runs here: $(PYTHONS)" >&2; exit 1; }; \
	echo "passed:$$ran"; [ -z "$$missing" ] || echo "not installed, not tested:$$missing"

dev: $(VENV)/.installed-dev

format: dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv .venv-* build dist site *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp is newer than pyproject.toml as long as the installed dependencies are those it names.
$(VENV)/.installed-%: pyproject.toml $(VENV)/.made
	@echo "installing autodiff-compiler[$*] into $(VENV)"
	@$(PIP) install --editable '.[$*]'
	@touch $@

# Asked for once: without a browser and Graphviz the tests that need them are skipped.
$(VENV)/.programs: tools/install_programs.sh $(VENV)/.made
	@sh tools/install_programs.sh
	@touch $@

$(VENV)/.made:
	@sh tools/make_venv.sh "$(VENV)" "$(PYTHON)"
	@touch $@
