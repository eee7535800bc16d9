"""What is done to a cluster, one step after the other: from a seed, or from a file.

    {"steps": [{"do": "create", "topic": "t0", "replicas": [0, 1, 2], "wait_s": 2},
               {"do": "kill", "broker": 0, "wait_s": 6}, {"do": "start", "broker": 0, "wait_s": 5}]}

`wait_s` passes behind a step; `await` waits until a broker runs that was started. A step for which there is no
occasion, as to kill what does not run, is left out. `cut`, `delay` and `copy` last until `heal`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from impl.apache.errors import ApacheError
from impl.apache.recording.network import Way

ON_NETWORK = ("cut", "delay", "copy", "heal")
OF_BROKER = ("kill", "terminate", "pause", "resume", "start", "await", *ON_NETWORK)
OF_CONTROLLER = ("kill_controller", "start_controller", "cut_controller", "heal_controller")
OF_TOPIC = ("create", "delete", "reassign", "cancel", "elect")
WITH_REPLICAS = ("create", "reassign")
CUTS = ("cut", "cut_controller")
FAULTS = (
    "kill", "kill", "terminate", "terminate", "pause", "reassign", "reassign", "topic", "elect", "cut", "delay", "copy",
)  # fmt: skip
SEEDED_STEPS = 7
_AWAITED = 0.7
"""How often the next fault waits until a broker that was started again runs."""
DELAYS_MS = (20, 200, 1_000)
_SHORT_S, _LONG_S = 1.0, 7.0
"""Waits are from this range: the session of a broker that is gone ends within some of them, and not within others."""


@dataclass(frozen=True)
class Step:
    """do: one of the words above. node: the number of a broker or controller. topic, replicas: of an operation.

    way: of a cut. delay_ms: for which a frame waits.
    """

    do: str
    node: int = -1
    topic: str = ""
    replicas: tuple[int, ...] = ()
    way: Way = Way.BOTH
    delay_ms: int = 0
    wait_s: float = 0.0


def seeded(seed: int, controllers: int, brokers: int) -> list[Step]:
    """The scenario of a seed: a topic or two, then faults and operations, each with its end."""
    draw = random.Random(seed)
    topics = [f"t{number}" for number in range(draw.choice((1, 1, 2)))]
    steps = [Step("create", topic=topic, replicas=_replicas(draw, brokers), wait_s=1.0) for topic in topics]
    faults = FAULTS if controllers == 1 else (*FAULTS, "controller", "controller", "cut_controller")
    for _ in range(SEEDED_STEPS):
        steps += _fault(draw, draw.choice(faults), topics, controllers, brokers)
    return steps


def _fault(draw: random.Random, fault: str, topics: list[str], controllers: int, brokers: int) -> Iterator[Step]:
    broker, topic = draw.randrange(brokers), draw.choice(topics)
    first_s, then_s = draw.uniform(_SHORT_S, _LONG_S), draw.uniform(_SHORT_S, _LONG_S)
    match fault:
        case "kill" | "terminate":
            yield Step(fault, broker, wait_s=first_s)
            yield Step("start", broker, wait_s=then_s / 2)
            if draw.random() < _AWAITED:
                yield Step("await", broker, wait_s=then_s / 2)
        case "pause":
            yield Step("pause", broker, wait_s=first_s)
            yield Step("resume", broker, wait_s=then_s)
        case "cut":
            yield Step("cut", broker, way=draw.choice(list(Way)), wait_s=first_s)
            yield Step("heal", broker, wait_s=then_s)
        case "delay":
            yield Step("delay", broker, delay_ms=draw.choice(DELAYS_MS), wait_s=first_s)
            yield Step("heal", broker, wait_s=then_s / 2)
        case "copy":  # until the end of the run
            yield Step("copy", broker)
        case "cut_controller":
            controller = draw.randrange(controllers)
            yield Step("cut_controller", controller, way=draw.choice(list(Way)), wait_s=first_s)
            yield Step("heal_controller", controller, wait_s=1.0)
        case "controller":
            controller = draw.randrange(controllers)
            yield Step("kill_controller", controller, wait_s=first_s)
            yield Step("start_controller", controller, wait_s=1.0)
        case "reassign":
            yield Step("reassign", topic=topic, replicas=_replicas(draw, brokers), wait_s=draw.uniform(0.0, 2.0))
            if draw.random() < 0.3:
                yield Step("cancel", topic=topic, wait_s=0.5)
        case "topic":
            yield Step("delete", topic=topic, wait_s=1.0)
            yield Step("create", topic=topic, replicas=_replicas(draw, brokers), wait_s=1.0)
        case "elect":
            yield Step("elect", topic=topic, wait_s=0.5)


def _replicas(draw: random.Random, brokers: int) -> tuple[int, ...]:
    return tuple(draw.sample(range(brokers), draw.randint(min(2, brokers), brokers)))


# Files.


def written(steps: list[Step]) -> str:
    """As a file has it."""
    return json.dumps({"steps": [_line(step) for step in steps]}, indent=1) + "\n"


def _line(step: Step) -> dict[str, Any]:
    line: dict[str, Any] = {"do": step.do}
    if step.do in OF_TOPIC:
        line["topic"] = step.topic
    else:
        line["controller" if step.do in OF_CONTROLLER else "broker"] = step.node
    if step.do in WITH_REPLICAS:
        line["replicas"] = list(step.replicas)
    if step.do in CUTS:
        line["way"] = step.way
    if step.do == "delay":
        line["delay_ms"] = step.delay_ms
    return {**line, "wait_s": round(step.wait_s, 3)}


def read(path: Path, controllers: int, brokers: int) -> list[Step]:
    """The steps in a file. Raises ApacheError."""
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ApacheError(f"{path}: cannot read it: {error.strerror}") from None
    except ValueError as error:
        raise ApacheError(f"{path}: this is no JSON: {error}") from None
    steps = given.get("steps") if isinstance(given, dict) else None
    if not isinstance(steps, list) or not steps:
        raise ApacheError(f'{path}: a scenario is {{"steps": [{{"do": "kill", "broker": 0, "wait_s": 5}}, ...]}}')
    return [_step(line, f"{path}: step {number}", controllers, brokers) for number, line in enumerate(steps, 1)]


def _step(line: Any, where: str, controllers: int, brokers: int) -> Step:
    if not isinstance(line, dict) or line.get("do") not in (*OF_BROKER, *OF_CONTROLLER, *OF_TOPIC):
        raise ApacheError(f'{where}: "do" is one of {", ".join((*OF_BROKER, *OF_CONTROLLER, *OF_TOPIC))}')
    do = line["do"]
    may_have = {"way"} if do in CUTS else set()
    known = {"do", "wait_s"} | _names(do) | may_have
    if set(line) - known or _names(do) - set(line):
        raise ApacheError(f"{where}: {do} has {', '.join(sorted(known))}, not {', '.join(sorted(line))}")
    wait_s, topic = line.get("wait_s", 0.0), line.get("topic", "")
    if isinstance(wait_s, bool) or not isinstance(wait_s, int | float) or not 0 <= wait_s <= 600:
        raise ApacheError(f"{where}: wait_s is a number of seconds from 0 to 600, not {wait_s!r}")
    if do in OF_TOPIC and (not isinstance(topic, str) or not topic):
        raise ApacheError(f"{where}: topic is the name of a topic, not {topic!r}")
    node = -1
    if do not in OF_TOPIC:
        role, count = ("broker", brokers) if do in OF_BROKER else ("controller", controllers)
        node = _number(line[role], count, f"{where}: {role}")
    replicas = line.get("replicas", [])
    if do in WITH_REPLICAS and (
        not isinstance(replicas, list) or not replicas or len(set(map(str, replicas))) < len(replicas)
    ):
        raise ApacheError(f"{where}: replicas is a list of different brokers, not {replicas!r}")
    placed = tuple(_number(one, brokers, f"{where}: replicas") for one in replicas)
    return Step(do, node, topic, placed, _way(line, where), _delay_ms(line, where), float(wait_s))


def _way(line: dict[str, Any], where: str) -> Way:
    try:
        return Way(line.get("way", Way.BOTH))
    except ValueError:
        raise ApacheError(f"{where}: way is one of {', '.join(Way)}, not {line['way']!r}") from None


def _delay_ms(line: dict[str, Any], where: str) -> int:
    delay_ms = line.get("delay_ms", 0)
    if isinstance(delay_ms, bool) or not isinstance(delay_ms, int) or not 0 <= delay_ms <= 60_000:
        raise ApacheError(f"{where}: delay_ms is a number of milliseconds from 0 to 60000, not {delay_ms!r}")
    return delay_ms


def _names(do: str) -> set[str]:
    """What a step has to say."""
    if do in OF_TOPIC:
        return {"topic", "replicas"} if do in WITH_REPLICAS else {"topic"}
    if do == "delay":
        return {"broker", "delay_ms"}
    return {"broker"} if do in OF_BROKER else {"controller"}


def _number(value: Any, count: int, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
        raise ApacheError(f"{where}: {value!r} is none of 0 to {count - 1}")
    return value
