"""What `kafka-pin-controller` prints of an answer, and its exit code. On real brokers: test_pinning_runs.py."""

from __future__ import annotations

import pytest

from impl.pinning import tool
from impl.pinning.messages import DescribeControllerResponse, ErrorCode, PinControllerResponse, Response

BROKER_2 = ("--broker", "2")


def told(monkeypatch: pytest.MonkeyPatch, response: Response, *arguments: str) -> int:
    """The exit code where a broker answers this."""
    monkeypatch.setattr(tool, "ask", lambda *_: response.body())
    return tool.main(["--bootstrap-server", "127.0.0.1:1", *arguments])


@pytest.mark.parametrize(
    ("response", "exit_code", "out", "err"),
    [
        (PinControllerResponse(ErrorCode.NONE, None, 5, 2, 7), tool.DONE, "broker 2 is controller, epoch 7\n", ""),
        (PinControllerResponse(ErrorCode.NONE, None, 5, 0), tool.DONE, "accepted: request 5 for broker 2\n", ""),
        (PinControllerResponse(ErrorCode.REQUEST_TIMED_OUT, "wait"), tool.REFUSED, "", "REQUEST_TIMED_OUT: wait\n"),
        (PinControllerResponse(99), tool.REFUSED, "", "error 99: no reason given\n"),
    ],
)
def test_an_answer_to_a_request(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    response: Response,
    exit_code: int,
    out: str,
    err: str,
) -> None:
    assert told(monkeypatch, response, *BROKER_2) == exit_code
    assert capsys.readouterr() == (out, err)


def test_a_description_for_people(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    response = DescribeControllerResponse(ErrorCode.NONE, None, -1, 3, 1, 8, 1, (2,))
    assert told(monkeypatch, response, "--describe") == tool.DONE
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["controller", "-"], ["epoch", "3"], ["target", "1"], ["request", "8"], ["ready", "1"], ["abstaining", "2"],
    ]  # fmt: skip
