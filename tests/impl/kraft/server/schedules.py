"""Seeded faults on clusters of three controllers and three brokers of ours, each a process, with clients all the while.

usage: python -m tests.impl.kraft.server.schedules [--count N] [--first SEED] [--done FILE] [--at-once N]

Nodes are killed, stopped, paused, cut off (one way or both) or have full disks; replicas are moved, leaders elected.
What clients saw must be linearizable, replicas must be alike in the end, and what was decided must be a behaviour of
`kraft/recorded`. A run takes half a minute. `--done`, stopping and exit codes are as tests.cluster.campaign has them.
"""

from __future__ import annotations

import random
import resource
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from impl.apache.recording.projection import MODEL
from impl.kraft.metadata.encoding import decode
from impl.kraft.simulation.invariants import BrokenRuleError
from impl.kraft.storage.batches import decode_all
from tests.cluster import stopping
from tests.cluster.campaign import Campaign, Run, judged
from tests.cluster.kafka import until
from tests.cluster.mesh import BOTH_WAYS, Mesh, Way
from tests.cluster.processes import ManagedProcess
from tests.cluster.schedules import Agenda
from tests.impl.kraft.server.clients import TOPIC, read_all
from tests.impl.kraft.server.controllers import PROGRAM, VOTERS
from tests.impl.kraft.server.decided_run import decisions
from tests.impl.kraft.server.own_brokers import BROKERS, OwnBrokers, own_cluster
from tests.impl.kraft.server.own_topic import OwnTopic
from tests.impl.kraft.server.witnesses import MADE, Operator, Reader, Witness, Writer, wrong_creations, wrong_in

PARTITIONS, TOPICS, STEPS = 2, 4, 9
ACTIONS = (*["kill", "cut"] * 3, *["stop", "pause", "move"] * 2, "fill", "elect")
_PREFERRED = 0
NEVER_BEGAN = "it never began: "
LONGEST_S = 5.0
"""Up to twice the session of a broker, and some elections."""
SETTINGS = {
    "broker.session.timeout.ms": 3_000, "broker.heartbeat.interval.ms": 500, "replica.lag.time.max.ms": 3_000,
}  # fmt: skip


class Faults:
    """The faults of one seed, one after the other; all end by themselves.

    done: how many there were of each kind. ended: nodes that have ended without being told to, or having a full disk.
    """

    def __init__(self, brokers: OwnBrokers, mesh: Mesh, operator: Operator, seed: int) -> None:
        self.brokers, self.mesh, self.operator = brokers, mesh, operator
        self.draw, self.agenda = random.Random(seed), Agenda()
        self.done = Counter[str]()
        self.ended: list[str] = []
        self._may_end: list[ManagedProcess] = []

    def run(self) -> None:
        for _ in range(STEPS):
            self.act(self.draw.choice(ACTIONS))
            self.agenda.wait(self.draw.uniform(0.2, 2.5))
        self.agenda.wait_for_all()

    def act(self, action: str) -> None:
        """Nothing where there is no occasion: what does not run is not killed."""
        leader = self.brokers.controllers.leader(self.brokers.controllers.alive)
        node = self.draw.choice((leader or VOTERS[0], *VOTERS, *BROKERS))
        lasts_s = self.draw.uniform(0.3, LONGEST_S)
        ways = self.draw.choice((BOTH_WAYS, BOTH_WAYS, (Way.OUT,), (Way.IN,)))
        replicas, partition = self.draw.sample(BROKERS, self.draw.randint(2, 3)), self.draw.randrange(PARTITIONS)
        if action == "move":
            self.operator.hand(lambda client: move(client, partition, replicas))
        elif action == "elect":
            self.operator.hand(elect)
        elif action == "cut":
            self.mesh.cut(node, *ways)
            self.agenda.after(lasts_s, lambda: self.mesh.heal(node))
        elif (process := self.brokers.process(node)).exit_code is not None:
            return
        elif action == "stop" and process in self._may_end:
            return  # a second SIGTERM ends it at once
        elif action == "pause":
            process.pause()
            self.agenda.after(lasts_s, process.resume)
        else:
            self._may_end.append(process)
            {"kill": self.brokers.kill, "stop": self.brokers.ask_to_stop, "fill": self.fill}[action](node)
            self.agenda.after(lasts_s, lambda: self.brokers.restart(node))
        self.done[action] += 1

    def make_well(self) -> None:
        """All nodes run, and reach each other."""
        for node in (*VOTERS, *BROKERS):
            self.mesh.heal(node)
            process = self.brokers.process(node)
            if process.exit_code is not None:
                if process not in self._may_end:
                    self.ended.append(f"node {node} has ended by itself, with exit code {process.exit_code}")
                self.brokers.restart(node)
        self.brokers.controllers.await_leader()

    def fill(self, node: int) -> None:
        """No file of a process becomes longer than its metadata log is: to a process that is a full disk."""
        pid, (_, most) = self.brokers.process(node).pid, resource.getrlimit(resource.RLIMIT_FSIZE)
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (self.brokers.metadata_bytes(node), most))


def move(client: Any, partition: int, replicas: Sequence[int]) -> None:
    from kafka import TopicPartition

    client.alter_partition_reassignments({TopicPartition(TOPIC, partition): list(replicas)})


def elect(client: Any) -> None:
    client.elect_leaders(_PREFERRED)


def run_one(seed: int, folder: Path, program: Sequence[str] = PROGRAM) -> Run | None:
    """folder: of its own, for the cluster. program: of its nodes."""
    from kafka.errors import KafkaError

    folder.mkdir(parents=True)
    mesh, problem_is = Mesh(), NEVER_BEGAN
    try:
        with own_cluster(folder, SETTINGS, mesh=mesh, validated=False, program=program) as brokers:
            problem_is = ""
            return run_on(brokers, mesh, seed)
    except stopping.StoppedError:
        return None
    except (TimeoutError, OSError, KafkaError) as problem:
        return Run(seed, "", {}, f"{problem_is}{problem}")
    except BrokenRuleError as problem:
        return Run(seed, "", {}, violated=(str(problem),))
    finally:
        mesh.stop()


def run_on(brokers: OwnBrokers, mesh: Mesh, seed: int) -> Run:
    """Raises TimeoutError where a cluster does not get well again, or a client does not."""
    topic = OwnTopic(brokers)
    topic.create(PARTITIONS)
    writers = [Writer(brokers.addresses, number, 2, PARTITIONS) for number in range(2)]
    reader, operator = Reader(brokers.addresses, PARTITIONS), Operator(brokers.addresses, TOPICS)
    witnesses: list[Witness] = [*writers, reader, operator]
    faults = Faults(brokers, mesh, operator, seed)
    try:
        for one in witnesses:
            one.start()
        faults.run()
        faults.make_well()
        topic.await_partitions(is_in_sync, "all replicas are in sync")
    finally:
        for one in witnesses:
            one.ask_to_stop()
    for one in witnesses:
        one.stop()
    until(topic.is_alike, "replicas are alike")

    written = [one for writer in writers for one in writer.written]
    log = brokers.controllers.metadata()
    wrong = faults.ended + wrong_creations(made(log), operator.created)
    for partition, values in enumerate(read_all(brokers.addresses, PARTITIONS)):
        own = [one for one in written if one.partition == partition]
        seen = [(offset, value) for at, offset, value in reader.seen if at == partition]
        wrong += [f"partition {partition}: {one}" for one in wrong_in(values, own, seen)]
    found = list(decisions(log, BROKERS))
    figures = {
        **faults.done, "failovers": sum(one.leader is not None for one in found) - 1,
        "decisions": sum(any(record.type != "NO_OP_RECORD" for record in one.records) for one in found),
        "acknowledged": sum(one.offset is not None for one in written),
        "unanswered": sum(one.offset is None for one in written), "read": len(reader.seen),
        "longest_ms_without": max(writer.longest_ms for writer in writers),
    }  # fmt: skip
    about = f"seed {seed}, "
    traces = brokers.controllers.traces(about) | brokers.controllers.traces_of_requests(about)
    return Run(seed, "".join(traces.values()), figures, violated=tuple(wrong))


def is_in_sync(partition: dict[str, Any]) -> bool:
    return partition["leader_id"] >= 0 and set(partition["isr_nodes"]) == set(partition["replica_nodes"])


def made(log: bytes) -> list[int]:
    """The topics that the operator has made, in order. log: of the active controller."""
    records = [
        decode(record.value or b"") for batch in decode_all(log) if not batch.is_control for record in batch.records
    ]
    names = [str(one.fields["name"]) for one in records if one.type == "TOPIC_RECORD"]
    return [int(name.removeprefix(MADE)) for name in names if name.startswith(MADE)]


def validated(runs: Sequence[Run]) -> dict[int, list[str]]:
    """By seed, what is said of its traces that are not accepted."""
    return judged(runs, MODEL, "--set", f"brokers={len(BROKERS)}")


SCHEDULES = Campaign("tests.impl.kraft.server.schedules", run_one, validated, lambda _seed: "three and three")

if __name__ == "__main__":
    sys.exit(SCHEDULES.main())
