"""A JVM that keeps states of released classes, and takes steps from one to the next (`java/fencepost/Server.java`).

A state is a value: a step makes a new one. Each knows the commands that led to it, so that it can be made again in
another process.
"""

from __future__ import annotations

import atexit
import json
import os
import struct
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from hashlib import blake2b
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from impl.apache.errors import ApacheError, FaultError
from impl.apache.release import EXPORTS, SERVER, classes, jars

HEAP_OF = "FENCEPOST_KAFKA_HEAP"
"""The variable that says how large the heap of each JVM may be, as Java takes it."""
_HEAP = "2g"
LENGTH = struct.Struct(">i")


class Number(NamedTuple):
    """A number that a state has. kind: what it is.

    about: of an epoch, "topic id/partition"; of the offset of a registration, the broker.
    """

    kind: str
    value: int
    about: str


class Session(NamedTuple):
    """What a controller remembers of a broker. Times and offsets are -1 where there are none."""

    contact_ns: int
    metadata_offset: int
    shutdown_offset: int


def digest_and_numbers(answer: Mapping[str, Any]) -> tuple[str, tuple[Number, ...]]:
    return str(answer["digest"]), tuple(Number(*one) for one in answer["numbers"])


class State:
    """A state in a JVM, which is dropped there once nobody has it here.

    digest: of all of it but for some numbers; two states with the same digest and numbers are the same. answer: what
    the step that led here did.
    """

    def __init__(self, jvm: Jvm, parent: State | None, command: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        self._jvm = jvm
        self.version, self._parent, self._command = jvm.version, parent, command
        self.number: int = answer["state"]
        self.digest, self.numbers = digest_and_numbers(answer)
        self.sessions = {one[0]: Session(*one[1:]) for one in answer.get("sessions", ())}
        self.answer = answer

    def __del__(self) -> None:
        self._jvm.dropped.append(self.number)

    def __reduce__(self) -> tuple[Any, ...]:
        return made_again, (self.version, self.commands())

    def commands(self) -> tuple[Mapping[str, Any], ...]:
        """All that led here, from the first on."""
        found, state = [], self
        while True:
            found.append(state._command)
            if state._parent is None:
                return tuple(reversed(found))
            state = state._parent

    def forget_past(self) -> None:
        """Those before it may be dropped: no other process is to make it again."""
        self._parent = None

    def after(self, command: Mapping[str, Any]) -> State:
        """The state after a step. Raises FaultError, ApacheError."""
        return State(self._jvm, self, command, self._jvm.ask({**command, "state": self.number}))

    @cached_property
    def reverted(self) -> tuple[str, tuple[Number, ...]] | None:
        """Digest and numbers of what would be left if the active role went now; None of one that has it not.

        Kafka keeps that beside the newest state, in memory, and goes back to it (`SnapshotRegistry`). Where all is
        committed, it may lack something, too: what is right behind a snapshot (OffsetControlManager.endLoadSnapshot).
        """
        if not self.answer.get("leads"):
            return None
        return digest_and_numbers(self._jvm.ask({"kind": "reverted", "state": self.number}))

    def description(self) -> str:
        """All of it, to be read."""
        return str(self._jvm.ask({"kind": "describe", "state": self.number})["text"])


class Jvm:
    """A process of Java with the classes of a release. main: the class that serves. more: options of Java."""

    def __init__(self, version: str, main: str = SERVER, more: Sequence[str] = ()) -> None:
        self.version = version
        self.dropped: list[int] = []
        made = classes(version, main)
        log4j = made / "log4j.properties"
        log4j.write_text("log4j.rootLogger=OFF\n")
        silent = (f"-Dlog4j.configuration=file:{log4j}", "-Dlog4j2.level=OFF", "-Dlog4j2.StatusLogger.level=OFF")
        heap = f"-Xmx{os.environ.get(HEAP_OF) or _HEAP}"
        options = (heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=4", *silent, *EXPORTS, *more)
        command = ["java", *options, "-cp", f"{made}:{jars(version)}/*", main]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._owner = os.getpid()
        atexit.register(self.close)

    def first(self, command: Mapping[str, Any]) -> State:
        return State(self, None, command, self.ask(command))

    def ask(self, command: Mapping[str, Any]) -> Mapping[str, Any]:
        """Raises FaultError where Kafka reports a fault, ApacheError where the JVM is gone or cannot do it."""
        dropped, self.dropped = self.dropped, []
        frame = json.dumps({**command, "drop": dropped}).encode()
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(LENGTH.pack(len(frame)) + frame)
            self._process.stdin.flush()
            (length,) = LENGTH.unpack(self._process.stdout.read(LENGTH.size))
            answer: Mapping[str, Any] = json.loads(self._process.stdout.read(length))
        except (OSError, struct.error, ValueError) as error:
            code = self._process.poll()
            raise ApacheError(f"the JVM with Apache Kafka {self.version} is gone (exit code {code})") from error
        if "fault" in answer:
            raise FaultError(f"Apache Kafka {self.version} reports a fault: {answer['fault']}")
        if "error" in answer:
            raise ApacheError(f"Apache Kafka {self.version} cannot do {command['kind']}: {answer['error']}")
        return answer

    def close(self) -> None:
        if self._owner == os.getpid():
            self._process.kill()
            self._process.wait()


@cache
def jvm_of(version: str, process: int) -> Jvm:
    """The JVM of a process. Raises ApacheError."""
    return Jvm(version)


def jvm(version: str) -> Jvm:
    return jvm_of(version, os.getpid())


KNOWN: WeakValueDictionary[tuple[str, str], State] = WeakValueDictionary()


def made_again(version: str, commands: tuple[Mapping[str, Any], ...]) -> State:
    """A state of this process that the same commands lead to."""
    state: State | None = None
    path = ""
    for command in commands:
        path = blake2b((path + json.dumps(command)).encode(), digest_size=16).hexdigest()
        known = KNOWN.get((version, path))
        if known is None:
            known = jvm(version).first(command) if state is None else state.after(command)
            KNOWN[version, path] = known
        state = known
    assert state is not None
    return state
