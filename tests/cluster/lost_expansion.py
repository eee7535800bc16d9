"""The loss of an acknowledged record that `kraft/expansion` finds, brought about on a real Apache Kafka.

    python -m impl.apache.release 3.9.2             # fetches the jars
    python -m tests.cluster.lost_expansion 3.9.2    # a minute or two

Broker 0 leads a partition of brokers 0, 1 and 2 with min.insync.replicas 2. Two proxies order what a network may order:
the fetches of the followers, and on the leader's link to the controller its second AlterPartition request and the
metadata record of the first. Nothing is lost, copied or changed. Then the leader is killed, and broker 1 is elected
from the ISR. With `--in-order` the record arrives before the second change is asked for: the leader waits for broker 1,
and what is lost was never acknowledged. (The producer sends once: what was not acknowledged it does not send again.)
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from impl.runtime.ports import free_ports
from tests.cluster.kafka import (
    CONTROLLER,
    VERSION,
    Node,
    broker_config,
    controller_config,
    missing,
    nodes,
    tool,
    until,
)
from tests.cluster.kafka_proxy import Api, Frame, Gated, Kind, gated

TOPIC = "records"
LAG_MS = 10_000
"""replica.lag.time.max.ms, Kafka's default before 2.5. It says how long a run takes, and nothing else."""


@dataclass(frozen=True)
class Outcome:
    """The values of the records that a producer has acknowledgements for, and what the topic has in the end."""

    acknowledged: list[str]
    read: list[str]
    story: list[str]

    @property
    def lost(self) -> list[str]:
        return [value for value in self.acknowledged if value not in self.read]


def requests(api: Api) -> Kind:
    return lambda frame: frame.api == api and not frame.is_response


def responses(api: Api) -> Kind:
    return lambda frame: frame.api == api and frame.is_response


def of_follower(broker: int, *, is_response: bool) -> Kind:
    wanted = Frame(Api.FETCH, f"broker-{broker}-fetcher-0", is_response)
    return lambda frame: frame == wanted


class Scenario:
    """A cluster behind two proxies, and the steps of the counterexample on it."""

    def __init__(self, version: str, made: dict[int, Node], between: Gated, ports: Sequence[int]) -> None:
        controller, leader, to_controller, to_leader, *followers = ports
        self.version, self.nodes, self.between = version, made, between
        self.servers = ",".join(f"127.0.0.1:{port}" for port in (to_leader, *followers))
        self.story: list[str] = []
        self.acknowledged: list[str] = []
        self.changes, self.answers, self.metadata = between.listen(
            to_controller,
            controller,
            [requests(Api.ALTER_PARTITION), responses(Api.ALTER_PARTITION), responses(Api.FETCH)],
        )
        self.fetches_1, self.fetched_1, self.fetches_2 = between.listen(
            to_leader,
            leader,
            [of_follower(1, is_response=False), of_follower(1, is_response=True), of_follower(2, is_response=False)],
        )

    def run(self, *, in_order: bool) -> Outcome:
        """Take the steps. in_order: the record of the first change arrives before the second is asked for."""
        self.start()
        self.produce()
        self.fall_behind()
        writing = self.write_while_broker_2_waits(in_order=in_order)
        self.ask_for_both_changes(in_order=in_order)
        self.let_the_record_arrive()
        self.let_broker_2_fetch(writing, in_order=in_order)
        self.commit_the_second_change_and_die()
        writing.join()
        return Outcome(self.acknowledged, self.read(), self.story)

    def start(self) -> None:
        for node in self.nodes.values():
            node.start()
        for number in (0, 1, 2):
            until(self.nodes[number].has_started, f"broker {number} starts")
        self.topics("--create", "--replica-assignment", "0:1:2", "--config", "min.insync.replicas=2")
        until(lambda: "Isr: 0,1,2" in self.topics("--describe"), "all replicas are in the ISR")
        self.say("broker 0 leads, the ISR is 0, 1, 2")

    def produce(self) -> None:
        """Send a record with acks=all, and wait for its acknowledgement."""
        printed = self.client(
            "VerifiableProducer", "--acks", "-1", "--max-messages", "1", "--value-prefix", str(len(self.acknowledged))
        )
        for event in map(json.loads, printed.splitlines()):
            if event["name"] == "producer_send_success":
                self.acknowledged.append(event["value"])
                self.say(f"record {event['value']} is acknowledged at offset {event['offset']}")

    def fall_behind(self) -> None:
        """Broker 1 does not fetch for replica.lag.time.max.ms. It misses nothing, for nothing is written."""
        self.between.shut(self.fetches_1)
        time.sleep(LAG_MS / 1000 + 1)
        self.say("broker 1 has not fetched for replica.lag.time.max.ms")

    def write_while_broker_2_waits(self, *, in_order: bool) -> threading.Thread:
        """A record is written, and the high watermark stays below it: broker 2 has yet to fetch it."""
        self.between.shut(self.fetches_2)
        until(lambda: self.fetches_2.waiting == 1, "broker 2 asks for more")
        if not in_order:
            self.changes.at_arrival = self.metadata.close
        writing = threading.Thread(target=self.produce)
        writing.start()
        return writing

    def ask_for_both_changes(self, *, in_order: bool) -> None:
        """The leader shrinks the ISR to 0, 2, then asks to expand it by broker 1, which has the high watermark."""
        until(lambda: self.answers.passed == 1, "the controller answers the first change of the ISR")
        self.changes.at_arrival = None
        self.between.shut(self.changes, self.fetched_1)
        self.say("the leader has the answer to the change of the ISR to 0, 2")
        if in_order:
            self.let_the_record_arrive()
        self.between.open(self.fetches_1)
        until(lambda: self.changes.waiting == 1, "the leader asks for broker 1")
        self.say("broker 1 fetches from the high watermark on, and the leader asks to add it: the request is under way")

    def let_the_record_arrive(self) -> None:
        self.between.open(self.metadata)
        seen = self.metadata.passed
        until(lambda: self.metadata.passed > seen + 2, "the leader fetches the metadata")
        self.say("the leader has the record of the change of the ISR to 0, 2")

    def let_broker_2_fetch(self, writing: threading.Thread, *, in_order: bool) -> None:
        """Broker 2 has the record now. The leader acknowledges it, unless it still waits for broker 1."""
        self.between.open(self.fetches_2)
        writing.join(3 if in_order else None)

    def commit_the_second_change_and_die(self) -> None:
        """The controller commits the expansion, and the leader dies before broker 1 has fetched the record."""
        self.between.open(self.changes)
        until(lambda: self.answers.passed == 2, "the controller answers the second change of the ISR")
        self.say("the controller has answered the change of the ISR to 0, 1, 2")
        self.nodes[0].kill()
        self.say("broker 0 is killed")
        until(lambda: "Leader: 1" in self.topics("--describe"), "broker 1 leads")
        self.say("broker 1 leads")

    def read(self) -> list[str]:
        consumer = "consumer.ConsoleConsumer"
        return self.client(consumer, "--from-beginning", "--timeout-ms", "15000").split()

    def say(self, what: str) -> None:
        self.story.append(f"{time.strftime('%H:%M:%S')} {what}")

    def topics(self, *arguments: str) -> str:
        return self.client("TopicCommand", *arguments)

    def client(self, name: str, *arguments: str) -> str:
        main = f"org.apache.kafka.tools.{name}"
        return tool(self.version, main, "--bootstrap-server", self.servers, "--topic", TOPIC, *arguments)


def lost_expansion(version: str = VERSION, *, in_order: bool = False) -> Outcome:
    """Bring up a cluster, and take the steps. Raises TimeoutError where Kafka does not go along."""
    ports = free_ports(6)
    controller, leader, to_controller, to_leader, first, second = ports
    lag = {"replica.lag.time.max.ms": LAG_MS, "offsets.topic.replication.factor": 1}
    configs = {
        CONTROLLER: controller_config(controller),
        0: broker_config(leader, to_leader, to_controller, lag),
        1: broker_config(first, first, controller, lag),
        2: broker_config(second, second, controller, lag),
    }
    with nodes(configs, version) as made, gated() as between:
        scenario = Scenario(version, made, between, ports)
        try:
            return scenario.run(in_order=in_order)
        except TimeoutError as error:
            raise TimeoutError("; ".join([str(error), *scenario.story])) from None


def main() -> None:
    parser = argparse.ArgumentParser(description="Lose an acknowledged record on a real Apache Kafka.")
    parser.add_argument("version", nargs="?", default=VERSION)
    parser.add_argument("--in-order", action="store_true")
    given = parser.parse_args()
    if why := missing(given.version):
        parser.error(why)
    found = lost_expansion(given.version, in_order=given.in_order)
    print(*found.story, sep="\n")
    print(f"acknowledged: {found.acknowledged}, read: {found.read}, lost: {found.lost or 'nothing'}")


if __name__ == "__main__":
    main()
