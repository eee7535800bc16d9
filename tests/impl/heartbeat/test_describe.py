"""DescribeBrokers and its tool: what a controller shows, by way of any broker, and what is said where there is none."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from impl.heartbeat import tool
from impl.heartbeat.controller import Controller
from impl.heartbeat.describe import DescribeBrokersResponse, DescribedBroker, described, read_describe_response
from impl.heartbeat.design import REPAIRED
from impl.heartbeat.messages import BrokerState, ErrorCode
from impl.heartbeat.registry import Known
from impl.runtime.client import Address
from impl.runtime.wire import WireError
from impl.zookeeper.election import Office

LISTED = DescribeBrokersResponse(
    ErrorCode.NONE, 2, "", 0, 7,
    (DescribedBroker(0, 1 << 40, BrokerState.ACTIVE, 12, False), DescribedBroker(3, 9, BrokerState.INACTIVE, -1, True)),
)  # fmt: skip
ELSEWHERE = DescribeBrokersResponse(ErrorCode.NOT_CONTROLLER, 2, "h", 9092)


def test_the_response_is_these_bytes() -> None:
    head = "00 00 00 00 00 02 00 00 00 00 00 00 00 00 00 07 00 00 00 02 "  # code, id, host, port, epoch, two brokers
    first = "00 00 00 00 00 00 01 00 00 00 00 00 02 00 00 00 00 00 00 00 0c 00 "
    second = "00 00 00 03 00 00 00 00 00 00 00 09 01 ff ff ff ff ff ff ff ff 01"
    assert LISTED.body().hex(" ") == head + first + second
    for response in (LISTED, ELSEWHERE):
        assert read_describe_response(response.body()) == response


def test_what_is_cut_or_goes_on_is_refused() -> None:
    data = LISTED.body()
    for wrong in (*(data[:end] for end in range(len(data))), data + b"\0"):
        with pytest.raises(WireError):
            read_describe_response(wrong)


def test_a_controller_shows_its_brokers_while_it_is_in_office_and_in_touch() -> None:
    controller = Controller(2, REPAIRED)
    controller.registry.brokers = {
        3: Known(9, BrokerState.INACTIVE, is_legacy=True),
        0: Known(1 << 40, BrokerState.ACTIVE, contact_ms=988),
    }
    controller.is_in_touch = True
    assert described(controller, 1_000) is None
    controller.office = Office(7, 0, 1)
    assert described(controller, 1_000) == LISTED
    controller.is_in_touch = False
    assert described(controller, 1_000) is None, "somebody else may be in office by now"


def shown(
    answers: dict[Address, bytes | OSError], monkeypatch: pytest.MonkeyPatch, *options: str
) -> int:  # fmt: skip
    """The exit code of the tool, by way of broker b:1. answers: of brokers, by where they listen."""

    def ask(address: Address, *_: object, **__: object) -> bytes:
        answer = answers[address]
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr("impl.runtime.client.ask", ask)
    return tool.main(["describe", "--bootstrap-server", "b:1", *options])


def test_a_broker_that_is_no_controller_says_who_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers: dict[Address, bytes | OSError] = {("b", 1): ELSEWHERE.body(), ("h", 9092): LISTED.body()}
    assert shown(answers, monkeypatch) == tool.DONE
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["controller", "2,", "epoch", "7"],
        ["id", "czxid", "state", "contact", "protocol"],
        ["0", str(1 << 40), "ACTIVE", "12", "ms", "heartbeats"],
        ["3", "9", "INACTIVE", "-", "legacy"],
    ]
    assert shown(answers, monkeypatch, "--json") == tool.DONE
    assert [one["broker"] for one in json.loads(capsys.readouterr().out)["brokers"]] == [0, 3]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (replace(ELSEWHERE, host="", port=0).body(), "b:1: no controller is known"),
        (ConnectionRefusedError("refused"), "b:1: refused"),
        (b"\0", "b:1: "),
    ],
)
def test_no_list_is_an_error_with_a_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: bytes | OSError, reason: str
) -> None:
    assert shown({("b", 1): answer}, monkeypatch) == tool.REFUSED
    found = capsys.readouterr()
    assert found.out == "" and found.err.startswith(reason) and found.err.count("\n") == 1


def test_a_state_that_is_not_known_is_shown_as_its_number() -> None:
    odd = replace(LISTED, brokers=(replace(LISTED.brokers[0], state=9),))
    assert " 9 " in tool.table(odd).splitlines()[2]
