# make check: install into .venv, then run the main job.  make test: what a person waits for, some minutes.
# make verify: every test but the large ones and those that passed on the same sources before: after `make test` the rest
# of them, after an interruption what was not run. Of long families it draws a sample by the day's date.  make large: what
# verify leaves out on that day, and the models of more than twelve million transitions, hours; it goes on where it was
# stopped.  make bench: the figures.
# make docs: write the pages that are made from runs and from pins.
# make mutate: the mutants of the kraft models, but for those of raft and the largest. It takes hours, and goes on where it
# was stopped; what an earlier run of the spec, renamed to build/mutants-before.ndjson, killed is tried first.
# make mutate-pinning: those of all pinning models. It takes an hour or two, and goes on where it was stopped.
# make mutate-heartbeat: those of all heartbeat models. It takes hours, and goes on where it was stopped.
# make mutate-group: those of all group models but the largest. It takes hours, and goes on where it was stopped.
# make mutate-streams: those of the streams models but the largest. It takes an hour or two, and goes on where it was stopped.
# make mutate-impl: those of the core of impl/kraft. It takes an hour or two, and goes on where it was stopped.
PYTHON ?= python3
BIN := .venv/bin

# What is compiled is kept: the tests start hundreds of processes, and each would compile the sources anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: check test verify large bench docs mutate mutate-pinning mutate-heartbeat mutate-group mutate-streams mutate-impl clean

# The main job: KIP-631's membership explored, a historical bug found with one switch off, the repaired design held.
check: .venv/.installed
	$(BIN)/fencepost check kraft/membership
	@echo; echo '--- KIP-903 switched off: the bug it repaired, as a shortest counterexample'
	$(BIN)/fencepost check kraft/lossy --set kip_903=false; test $$? -eq 1
	@echo; echo '--- the same model with every guard on'
	$(BIN)/fencepost check kraft/lossy

test: .venv/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n auto --dist loadgroup --tier=quick --cpu=15 --journal=build/passed.txt

verify: .venv/.installed
	$(BIN)/pytest -n auto --dist loadgroup --tier=verify --durations=20 --cpu=20 --journal=build/passed.txt

large: .venv/.installed
	$(BIN)/pytest -n 0 --tier=large --durations=0 --journal=build/large.txt

bench: .venv/.installed
	$(BIN)/python -m tests.benchmarks

docs: .venv/.installed
	$(BIN)/fencepost gallery
	$(BIN)/python -m tests.models_table
	$(BIN)/python -m tests.properties_table
	$(BIN)/python -m tests.streams_matrix

# The models by how soon they kill how much: what one kills is not tried on those after it.
MUTATED := abstract_isr timed timed_failover stuck_reassignment lifecycle election restarts unregistered topics \
	isr_spurious refused epoch_logs moved_leads conflicts_end registered_again membership twins_spurious creation \
	deletion moved_record expansion listed_shutdown metadata reassignment recreated shutdown_late unregistration \
	snapshot failover_twins failover_shutdown removal failover_reassignment refusal late zombie rolling shutdown \
	stopped_record joining isr twins lossy failover_crash failover_record failover quorum operated_shutdown moved_disk \
	snapshot_reassignment failover_images timed_registration unfencing_ends leases_end shutdown_ends restarts_end \
	reassignment_ends changes_end elections_end failover_ends failover_changes
MUTATED_PINNING := lost_reply pin zombie lost_takeover takeover preferred live_crash live mixed refused repin live_late \
	live_refused live_takeover rolling_takeover rolling expiry hung repin_crash
MUTATED_HEARTBEAT := live_record leases live_legacy live_stopping refused late superseded sessions live_crash live timed legacy former \
	disk_and_failover late_fetch stopping failover live_upgrade isr zombie upgrade
MUTATED_GROUP := two_groups join given_up crash late death pings topics three timed failover offsets section2 barrier shutdown former
MUTATED_STREAMS := offline missing_topic beside_old two_bounces tasks probing leaving rebalances rebalances_leaving matrix \
	failover lost_reply crash expiry two_bounces_crash rollback three_versions tasks_leaving threads
VERDICTS := build/mutants.ndjson
VERDICTS_PINNING := build/pinning-mutants.ndjson
VERDICTS_HEARTBEAT := build/heartbeat-mutants.ndjson
VERDICTS_GROUP := build/group-mutants.ndjson
VERDICTS_STREAMS := build/streams-mutants.ndjson
BEFORE = $(2:.ndjson=-before.ndjson)
JUDGE = $(BIN)/fencepost mutate $(1) $(if $(wildcard $(2)),--resume,--checkpoint) $(2) \
	$(if $(wildcard $(BEFORE)),--killers $(BEFORE))

mutate: .venv/.installed
	mkdir -p $(dir $(VERDICTS))
	$(call JUDGE,$(MUTATED:%=kraft/%),$(VERDICTS))

mutate-pinning: .venv/.installed
	mkdir -p $(dir $(VERDICTS_PINNING))
	$(call JUDGE,$(MUTATED_PINNING:%=pinning/%),$(VERDICTS_PINNING))

mutate-heartbeat: .venv/.installed
	mkdir -p $(dir $(VERDICTS_HEARTBEAT))
	$(call JUDGE,$(MUTATED_HEARTBEAT:%=heartbeat/%),$(VERDICTS_HEARTBEAT))

mutate-group: .venv/.installed
	mkdir -p $(dir $(VERDICTS_GROUP))
	$(call JUDGE,$(MUTATED_GROUP:%=group/%),$(VERDICTS_GROUP))

mutate-streams: .venv/.installed
	mkdir -p $(dir $(VERDICTS_STREAMS))
	$(call JUDGE,$(MUTATED_STREAMS:%=streams/%),$(VERDICTS_STREAMS))

mutate-impl: .venv/.installed
	$(BIN)/python -m tests.impl_mutation

.venv/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Fencepost needs Python 3.11 or newer: make PYTHON=python3.12 check")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
