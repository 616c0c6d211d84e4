# Two commands matter: `make lab` and `make test`. `make help` lists the others.
.DEFAULT_GOAL := help
.PHONY: help setup lab test quick lint site bench income flink labs class real lock po proto clean
PY := .venv/bin/python
export PYTHON

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' Makefile | expand -t 9

setup: ## virtual environment .venv, pinned packages; Java, Chromium and fonts where it may
	@.ci/setup
	@$(PY) -m mqlab.spark.classes --later

lab: setup ## your copies of the labs, in JupyterLab (in my-labs/, never overwritten; LANG=zh 中文)
	@$(PY) -m mqlab labs open $(if $(filter command line,$(origin LANG)),--lang $(LANG))

test: setup ## all checks, with a table of times and what was skipped (ALL=1: the whole matrix)
	@$(PY) tests/run.py $(if $(ALL),--all) $(if $(AGAIN),--again) $(PARTS)

quick: setup ## after a change: style, types (what changed), kernel and one broker (BROKER=rocketmq)
	@$(PY) tests/run.py style types kernel $(or $(BROKER),kafka)

lint: setup ## style and types only
	@$(PY) tests/run.py style types

site: setup ## a static site in .cache/site: stories that play in a browser (ARGS=--serve shows it)
	@$(PY) -m mqlab site $(ARGS)

bench: setup ## measure: transactions/s, income, import time, the player, the explorer
	@$(PY) -m tests.bench $(ARGS)

income: setup ## a real day of orders -> income per minute, exactly once (ARGS="--help")
	@$(PY) -m mqlab income $(ARGS)

flink: setup ## the same job on Flink (PyFlink, Maven), then both killed: one table
	@$(PY) -m mqlab income flink --setup
	@$(PY) -m mqlab income flink
	@$(PY) -m mqlab income flink --kill

labs: setup ## student copies and solutions from labs/source, then check them
	@$(PY) -m mqlab labs build
	@$(PY) -m mqlab labs check

class: setup ## an nbgrader course of the labs (DIR=folder; ARGS=--sample: with a sample class)
	@$(PY) -m mqlab class $(DIR) $(ARGS)

real: setup ## real brokers (Java, Maven): asked again and compared, and the engine with them
	@$(PY) -m mqlab real kafka compare --real
	@$(PY) -m mqlab real kafka compare
	@$(PY) -m mqlab real rocketmq compare --real
	@$(PY) -m mqlab real rocketmq compare --real --version 4.9.7
	@$(PY) -m mqlab real rocketmq compare
	@$(PY) -m mqlab real rocketmq compare --version 4.9.7
	@$(PY) -m mqlab real pulsar compare --real
	@$(PY) -m mqlab real pulsar compare
	@$(PY) -m pytest -q tests/serve/pulsar/java_client.py tests/serve/pulsar/real_administration.py \
		tests/serve/pulsar/generations.py tests/lessons/java_client.py tests/inspect/running.py

lock: setup ## renew requirements.lock within pyproject.toml's bounds
	@.ci/lock

po: setup ## bring the Chinese catalogues (PO files) in step with what is said in English
	@$(PY) -m tests.project.catalogue

proto: setup ## make the classes of Pulsar's messages anew from PulsarApi.proto
	@.ci/proto

clean: ## remove what the commands made, .venv too; nothing that you wrote, no course
	rm -rf .venv .cache build dist .pytest_cache .mypy_cache .ruff_cache
	find mqlab widgets tests -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
