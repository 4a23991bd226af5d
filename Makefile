# The workbook's errands. `make` alone lists them; all of them set up `.venv` first, once.
#   make lab PYTHON=python3.12       a Python of your choice (3.11 or newer)
#   make lab TORCH_INDEX=<address>   no NVIDIA card: PyTorch without CUDA (see README)
.DEFAULT_GOAL := help
.PHONY: help setup lab clean
export PYTHON TORCH_INDEX
# uv trusts the certificates that this machine trusts.
export UV_SYSTEM_CERTS := 1

IN := .venv/bin

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

setup: ## make or mend .venv, with the pinned packages
	@sh .ci/setup

lab: setup ## open the course in JupyterLab
	@$(IN)/workbook lab

clean: ## remove the environment and its tools
	rm -rf .venv .tools

# ---- not for students ----

.PHONY: demo test build check lint format fresh replay requirements
PYTEST := OMP_NUM_THREADS=1 $(IN)/python -m pytest -n 2 --dist loadgroup
COMPILE := --universal --generate-hashes --no-emit-index-url --python-version 3.11

demo: setup ## grade a made-up class and say where its reports are
	@$(IN)/workbook demo

test: setup ## run the tests
	@$(PYTEST)

build: setup ## derive notebooks/ and solutions/*.ipynb from solutions/*.py
	@$(IN)/workbook build

check: lint format fresh ## lint, format, and whether the derived notebooks are fresh

lint: setup
	$(IN)/ruff check .

format: setup
	$(IN)/ruff format --check .

fresh: setup
	$(IN)/workbook build --check

replay: setup ## run every solution notebook and compare its outputs
	$(PYTEST) --dist loadfile -p no:cacheprovider --nbval --nbval-current-env --nbval-cell-timeout=120 solutions/*.ipynb

requirements: setup ## pin again after a change in pyproject.toml (UPGRADE=--upgrade for newer versions)
	.tools/uv/bin/uv pip compile -q $(UPGRADE) pyproject.toml --extra test $(COMPILE) -o requirements.txt
	printf 'uv\nhatchling>=1.27\neditables\n' | UV_CUSTOM_COMPILE_COMMAND='make requirements' \
		.tools/uv/bin/uv pip compile -q $(UPGRADE) - $(COMPILE) -o requirements-setup.txt
	@! grep -n '://' requirements.txt requirements-setup.txt
