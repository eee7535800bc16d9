"""The shell on a quorum that runs: what is committed, from a log or from a snapshot and what follows it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from impl.kraft.tools.shell.tool import main
from tests.cluster.kafka import until
from tests.impl.kraft.server.admin_requests import SET, TOPIC, alteration, configs_of, creation, new_topic
from tests.impl.kraft.server.alone import OURS
from tests.impl.kraft.server.registered_brokers import FENCED, WithBrokers, with_brokers
from tests.impl.kraft.tools.running import Tool

run = Tool(main)
SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": 1_000, "metadata.max.retention.bytes": 0,
             "internal.metadata.log.segment.bytes": 500, "internal.metadata.clean.interval.ms": 200}  # fmt: skip


def shown(capsys: pytest.CaptureFixture[str], controller: WithBrokers, *command: str) -> list[str]:
    code, lines, error = run(capsys, "-C", f"1@127.0.0.1:{controller.port}", *command)
    assert (code, error) == (0, ""), error
    return lines


def fill(controller: WithBrokers) -> None:
    controller.answer(creation(new_topic("orders", (11, 12), (12, 13))))
    controller.answer(alteration(configs_of(TOPIC, "orders", ("retention.ms", SET, "7"))))


def look(capsys: pytest.CaptureFixture[str], controller: WithBrokers) -> None:
    assert shown(capsys, controller, "ls", "/image/cluster/brokers") == ["11", "12", "13"]
    assert shown(capsys, controller, "ls", "/image/topics/byName/orders") == ["0", "1"]
    assert shown(capsys, controller, "cat", "/image/configs/TOPIC:orders/retention.ms") == ["7"]
    (broker,) = shown(capsys, controller, "cat", f"/image/cluster/brokers/{FENCED}")
    assert '"fenced":true' in broker


@pytest.mark.long("a process")
@pytest.mark.parametrize("more", [{}, SNAPSHOTS], ids=["a log", "a snapshot"])
def test_what_a_quorum_of_ours_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: Mapping[str, object]
) -> None:
    with with_brokers(tmp_path / "one", OURS, more) as controller:
        fill(controller)
        if more:
            until(lambda: not (controller.directory / f"{0:020}.log").exists(), "the log has lost its beginning", 60)
        capsys.readouterr()
        look(capsys, controller)


@pytest.mark.parametrize(("arguments", "code"), [
    (("-C", "127.0.0.1:1", "ls"), 1), (("-C", "1@127.0.0.1:1", "ls"), 1), (("-C", "", "ls"), 2), (("-C", "a", "ls"), 2),
    (("-C", "a:1", "-s", "b", "ls"), 2), (("ls",), 2), (("-C", "a:1", "-c", "absent.properties", "ls"), 2),
], ids=str)  # fmt: skip
def test_nobody_who_answers(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int) -> None:
    found, said, error = run(capsys, *arguments)
    assert (found, said) == (code, []) and error and "Traceback" not in error
