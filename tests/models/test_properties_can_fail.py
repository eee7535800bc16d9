"""A property counts only if it can fail: for each invariant of these models, a small change to an action breaks it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from checker.explicit.check import CheckOptions, check
from checker.lang.loader import load, load_spec
from tests.conftest import read_pins

MODELS = Path(__file__).parent


@dataclass(frozen=True)
class Mutant:
    """`old`, which stands once in an action of the file, becomes `new`, and the model's property breaks."""

    target: str
    breaks: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.target} {self.breaks}"


STALE = "fresh(s, BrokerEpoch) if broker == Broker(0) else s.epoch[Broker(0)]"
MUTANTS = [
    Mutant("async_isr.py", "isr_has_committed_records",
           "request.version == s.controller", "request.version <= s.controller"),
    Mutant("two_phase_commit.py", "all_or_nothing",
           "require(s.manager == Manager.UNDECIDED)\n    s.manager = Manager.ABORTED",
           "require(s.manager != Manager.ABORTED)\n    s.manager = Manager.ABORTED"),
    Mutant("ordinals.py/bumps", "newest_is_above_all",
           "takes a fresh epoch.\"\"\"\n    s.epoch[broker] = fresh(s, BrokerEpoch)",
           f"takes a fresh epoch.\"\"\"\n    s.epoch[broker] = {STALE}"),
    Mutant("ordinals.py/two_sorts", "newest_is_above_all",
           "fresh(s, BrokerEpoch)\n    s.leader_epoch", f"{STALE}\n    s.leader_epoch"),
    Mutant("ordinals.py/two_sorts", "same_order", "s.leader_epoch[broker] =", "s.leader_epoch[Broker(0)] ="),
    Mutant("ordinals.py/sessions", "no_epoch_twice",
           "s.session[broker] = None", "s.session[broker] = s.session[Broker(0)]"),
    Mutant("ordinals.py/pair_in_one_step", "issued_above_both",
           "s.second = fresh(s, BrokerEpoch)", "s.second = s.first"),
    Mutant("ordinals.py/swap", "issued_above_both", "s.second = first", "s.second = s.first"),
    Mutant("ordinals.py/stale", "no_request_from_the_future",
           "Request(epoch=s.epoch)", "Request(epoch=fresh(s, BrokerEpoch))"),
    Mutant("ordinals.py/upgraded", "old_question_stays",
           "require(s.question == s.version)", "require(s.question is not None)"),
    Mutant("collections_of_values.py/bag", "one_letter_at_a_time", ".add(letter)", ".add(letter).add(letter)"),
    Mutant("collections_of_values.py/stamped_bag", "no_two_alike", "= fresh(s, Epoch)", "= s.newest"),
    Mutant("collections_of_values.py/orders", "stands_once", "line + (process,)", "line + (Process(0),)"),
    Mutant("collections_of_values.py/some_line_up", "stands_once", "s.line = some", "s.line = some[1:] + some[1:]"),
    Mutant("collections_of_values.py/line_shrinks", "stands_once", "line + (process,)", "line + (Process(0),)"),
    Mutant("collections_of_values.py/first_in_order", "the_dead_are_not_elected",
           "chosen is None and process in s.alive", "chosen is None and process not in s.alive"),
    Mutant("choices.py", "weights_are_even", "s.leader is None and even(weights)", "s.leader is None"),
    Mutant("choices.py", "weights_are_even", "require(even(weights))", "require(not even(weights))"),
    Mutant("choices.py", "a_line_starts_with_the_leader", "require(line[0] == s.leader)", "require(s.line != line)"),
    Mutant("queue.py", "first_in_first_out", "q.values[1:]", "q.values[:0]"),
    Mutant("choices.py", "nobody_goes_down", "s.leader = node", "s.leader = node\n    s.up = {node}"),
    Mutant("members.py/many", "taken_in_turn", "s.next + 21", "s.next + 61"),
    Mutant("members.py/posted", "one_message_each", "any(m.by == node for m", "any(m == Abort(by=node) for m"),
    Mutant("members.py/quorums", "quorums_meet", "len(quorum & other) > 0", "len(quorum & other) >= 0"),
    Mutant("members.py/claims", "no_claim_from_the_future", "epoch=s.newest)}", "epoch=fresh(s, Epoch))}"),
    Mutant("members.py/linked", "links_go_both_ways", "Pair(a=pair.b, b=pair.a)", "Pair(a=pair.b, b=pair.b)"),
    Mutant("shapes.py/locks", "never_taken_away", "if s.holder is None:", "if s.holder != asking:"),
    Mutant("shapes.py/copied_levels", "no_other_permutation", "s.levels[place] = level", "s.levels[place] = 2 - level"),
    Mutant("shapes.py/turns", "lights_in_turn", "s.turn < 2", "s.turn < 1"),
    Mutant("shapes.py/fleet", "running_machines_stay",
           "bought is not None and bought.power == Power.OFF", "bought is not None and bought.power == Power.ON"),
    Mutant("tla_allocator.py/fair", "no_resource_is_held_twice",
           "    require(all(is_free(s, resource) for resource in resources))\n", ""),
    Mutant("tla_chang_roberts.py/fair", "the_smallest_wins", "or number < node", "or number > node"),
    Mutant("tla_fifo.py", "first_in_first_out", "value=s.queue[0]", "value=s.inlet.value"),
    Mutant("tla_prisoners.py/fair", "counter_is_right", "if s.a_is_up:", "if s.a_is_up or s.b_is_up:"),
    Mutant("tla_readers_writers.py/fair", "writers_are_alone", "        require(not s.readers)\n", ""),
    Mutant("tla_termination_async.py", "detection_is_right", "or detected == is_last", "or detected"),
    Mutant("tla_termination_async.py", "termination_is_stable",
           "require(s.active[node])\n    s.pending", "s.pending"),
    Mutant("tla_termination_ring.py/fair", "detection_is_right", "if other > node:", "if other < node:"),
    Mutant("verdicts.py/remembered", "light_is_remembered", "s.ever_on or s.on", "s.ever_on and s.on"),
    Mutant("verdicts.py/forgotten", "light_is_remembered", "s.ever_on or s.on", "s.ever_on and s.on"),
]  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_changed_action_breaks_it(mutant: Mutant, tmp_path: Path) -> None:
    name, _, model = mutant.target.partition("/")
    text = (MODELS / name).read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1
    (tmp_path / name).write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    target = str(tmp_path / name) + (f"/{model}" if model else "")
    report = check(load(target), CheckOptions(all_violations=True), started=time.perf_counter())
    assert mutant.breaks in {p.name for p in report.properties if p.verdict == "violated"}


def test_every_invariant_that_holds_has_such_a_change() -> None:
    pins = read_pins(MODELS.parent / "pins.toml")
    broken = {(p.target, name) for p in pins for name in p.expected.get("violated", {})}
    wanted = set()
    for file in sorted(MODELS.glob("*.py")):
        if file.stem.startswith("test_"):
            continue
        models = load_spec(str(file)).models
        for model in models:
            target = f"{file.name}/{model.name}" if len(models) > 1 else file.name
            for p in model.properties:
                if p.kind.endswith("invariant") and (f"tests/models/{target}", p.name) not in broken:
                    wanted.add((target, p.name))
    assert wanted == {(m.target, m.breaks) for m in MUTANTS}
