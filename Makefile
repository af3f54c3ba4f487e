# Everything goes through these verbs; CI calls exactly them.
.PHONY: help setup setup-dev demo test test-viewer check bench release docs catalogue quality golden truth truth-sealed replicate fuzz viewer gallery clean
.DEFAULT_GOAL := help
SHELL := /bin/bash
VENV ?= .venv
PY := $(VENV)/bin/python
OUT ?= demo-run
# One thread per process where two test workers share two cores; over-subscription costs a factor of ten.
THREADS ?= 2
export VENV
export PYTHONPATH := $(CURDIR)/src
export TOKENIZERS_PARALLELISM := false
export HF_HUB_OFFLINE := 1

help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

setup:  ## virtual environment with pinned packages for the demo
	@EXTRAS=demo scripts/setup.sh

setup-dev:
	@EXTRAS=demo,models,data,peft,live,notebook,figures,onnx,chinese,dev scripts/setup.sh

demo: setup  ## audit the embedded default model and write demo-run/report.html (about 2 minutes after installs)
	@OMP_NUM_THREADS=$(THREADS) $(PY) -m regard audit --profile quick --out $(OUT)
	@echo "Open $(OUT)/report.html in a browser."

test: setup-dev  ## all tests, the front end's included (prints the ten slowest)
	@scripts/viewer_units.sh || echo "make test: the front end's tests will be listed as NOT RUN"
	@REGARD_BROWSER="$$(scripts/browser.sh)" OMP_NUM_THREADS=1 $(PY) -m pytest -n 2 --dist worksteal

check: setup-dev  ## style, types, generated files
	@$(PY) -m ruff format --check src tests benchmarks docs scripts
	@$(PY) -m ruff check src tests benchmarks docs scripts
	@$(PY) -m mypy
	@$(PY) -m regard.testing.catalogue --check
	@$(PY) scripts/viewer_types.py --check

catalogue: setup-dev  ## rebuild the list of methods from the code
	@$(PY) -m regard.testing.catalogue

bench: setup-dev  ## speed and memory side by side with the peers; writes benchmarks/results/
	@$(PY) -m pip --quiet --disable-pip-version-check install --no-deps -r requirements-bench.txt
	@$(PY) -m pip --quiet --disable-pip-version-check install --no-deps --target $(VENV)/service-clients -r requirements-clients.txt
	@OMP_NUM_THREADS=1 $(PY) -m benchmarks

quality: setup-dev  ## accuracies and other long runs; writes benchmarks/results/
	@OMP_NUM_THREADS=$(THREADS) $(PY) -m benchmarks.quality
	@OMP_NUM_THREADS=1 $(PY) -m benchmarks.reversed_catalogue
	@OMP_NUM_THREADS=1 $(PY) -m benchmarks.mixtures
	@OMP_NUM_THREADS=1 $(PY) -m benchmarks.in_distribution

golden: setup-dev  ## seven audits by the code of REFERENCE and by this tree: tables bit for bit, verdicts, passes, CPU time
	@$(PY) -m benchmarks.golden $(if $(REFERENCE),--reference $(REFERENCE))

truth: setup-dev  ## the judge on the development half of the planted models (goes on where it was stopped)
	@OMP_NUM_THREADS=1 nice -n 10 $(PY) -m benchmarks.truth --half dev

truth-sealed: setup-dev  ## open the sealed half; every opening is logged in benchmarks/results/truth_openings.log
	@OMP_NUM_THREADS=1 nice -n 10 $(PY) -m benchmarks.truth --half sealed

replicate: setup-dev  ## the published tables on SST beside ours (DATA=sst_dataset.csv; hours; goes on where it was stopped)
	@OMP_NUM_THREADS=1 $(PY) -m benchmarks.replicate $(if $(DATA),--data $(DATA))

fuzz: setup-dev  ## hostile inputs, kills, an audit offline, a soak: 10 minutes (LONG=1: the goal figures, about an hour; goes on)
	@OMP_NUM_THREADS=1 $(PY) -m benchmarks.fuzz $(if $(LONG),--long) $(if $(SEED),--seed $(SEED))

viewer: setup-dev  ## rebuild the front end (the built one is committed)
	@$(PY) scripts/viewer_types.py && scripts/viewer_units.sh && cd viewer && PATH="$$(../scripts/node.sh):$$PATH" npm run --silent build

test-viewer: setup-dev  ## the front end from its lock file: types, style, byte for byte the committed bundle
	@PY=$(PY) scripts/viewer_check.sh

release: setup  ## wheel, source archive, SBOM and checksums in dist/
	@VENV=$(VENV) scripts/release.sh

gallery: setup-dev  ## every view in light and dark at three sizes, as pictures
	@REGARD_BROWSER="$$(scripts/browser.sh)" OMP_NUM_THREADS=$(THREADS) $(PY) scripts/viewer_gallery.py

docs: setup-dev  ## the documentation as pages in site/, tutorials as executed notebooks too (some minutes)
	@OMP_NUM_THREADS=$(THREADS) $(PY) docs/build.py site --execute

clean:  ## remove everything that was generated
	rm -rf $(VENV) site $(OUT) .mypy_cache .ruff_cache .pytest_cache .hypothesis
