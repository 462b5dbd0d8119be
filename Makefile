# `make rank` and `make test` each take a fresh clone to the result, in .venv.
# PYTHON=/path/to/python chooses the interpreter that .venv is made with.
.PHONY: rank test lint lock clean

DRAWS = 5000
ARGS =

python = .venv/bin/python
pip = $(python) -m pip --disable-pip-version-check --no-input --quiet --quiet
ready = .venv/ready

# A virtual environment is bound to its path and to its interpreter: without either it is useless.
usable := $(shell test "$$(cat .venv/path 2>/dev/null)" = "$$(pwd -P)" \
	&& $(python) -c 'import pip' 2>/dev/null && echo yes)
ifneq ($(usable),yes)
.PHONY: $(ready)
endif

rank: $(ready)
	@$(python) -m decision.rank --draws $(DRAWS) $(ARGS)

test: $(ready)
	@$(python) -m pytest $(ARGS)

lint: $(ready)
	@$(python) -m ruff check .
	@$(python) -m ruff format --check .
	@$(python) -m mypy

# Pins everything anew; ARGS=--upgrade takes the newest versions.
lock: $(ready)
	@uv pip compile pyproject.toml --all-extras --universal --python $(python) \
		--python-version 3.12 --no-python-downloads --generate-hashes --no-emit-index-url \
		--no-emit-find-links --custom-compile-command 'make lock' --quiet \
		--output-file requirements.lock $(ARGS)

clean:
	@rm -rf .venv dist .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Written last, so that a set-up that was interrupted is taken up again.
$(ready): requirements.lock pyproject.toml
	@rm -f $(ready)
	@test "$(usable)" = yes || { \
		base=$$(.ci/find-python) && rm -rf .venv && "$$base" -m venv .venv && \
		pwd -P > .venv/path; }
	@echo 'Installing the pinned packages into .venv (a minute or two the first time) ...' >&2
	@$(pip) install --require-hashes --only-binary :all: -r requirements.lock
	@$(pip) install --no-deps --no-build-isolation --editable .
	@touch $(ready)
