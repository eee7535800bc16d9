"""A recorded run changed so that no cluster that follows the spec can have had it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any

Events = list[dict[str, Any]]


def parsed(text: str) -> tuple[dict[str, Any], Events]:
    """The header of a trace, and its events without the end."""
    header, *events = map(json.loads, text.splitlines())
    return header, events[:-1]


def written(header: dict[str, Any], events: Events, name: str) -> str:
    lines = [{**header, "name": name}, *events, {"end": len(events)}]
    return "".join(json.dumps(line) + "\n" for line in lines)


def index(events: Events, action: str, count: int = 0, **parameters: str) -> int:
    """The number of an event of an action, with these parameters. count: of such events before it."""
    found = [
        number
        for number, event in enumerate(events)
        if event["action"] == action and parameters.items() <= event["parameters"].items()
    ]
    return found[count]


def image(event: dict[str, Any]) -> Any:
    return event["state"]["controllers"]["controller0"]["image"]


def partition(event: dict[str, Any]) -> Any:
    return image(event)["partitions"]["partition0"]


def registration(event: dict[str, Any], broker: str) -> Any:
    return image(event)["registrations"][broker]


def fencing(events: Events) -> dict[str, Any]:
    """Broker 0, which led, is fenced for it was killed."""
    return events[index(events, "fence_expired", broker="broker0")]


def second_registration(events: Events) -> dict[str, Any]:
    """Broker 0 registers again after its death."""
    return events[index(events, "handle_registration", 3)]


def isr_change(events: Events) -> dict[str, Any]:
    """Broker 0 joins the ISR again, while broker 1 is fenced."""
    return events[index(events, "handle_alter_isr")]


# What is changed.


def fencing_is_left_out(events: Events) -> None:
    del events[index(events, "fence_expired", broker="broker0")]


def creation_is_left_out(events: Events) -> None:
    del events[index(events, "create_topic_on")]


def change_of_the_isr_is_left_out(events: Events) -> None:
    at = index(events, "ask_for_isr")
    del events[at : at + 2]


def sigterm_is_left_out(events: Events) -> None:
    del events[index(events, "sigterm")]


def start_is_left_out(events: Events) -> None:
    del events[index(events, "start", 1, process="broker0")]


def crash_is_of_another(events: Events) -> None:
    events[index(events, "crash")]["parameters"]["process"] = "broker2"


def another_is_fenced(events: Events) -> None:
    fencing(events)["parameters"]["broker"] = "broker2"


def unfenced_before_registered(events: Events) -> None:
    """What a broker does from its registration on, and its being unfenced, change places."""
    registers = index(events, "send_registration", process="broker1")
    unfenced = index(events, "recover", process="broker1")
    first, then = events[registers:unfenced], events[unfenced : unfenced + 4]
    events[registers : unfenced + 4] = then + first


def leader_is_not_the_first_replica(events: Events) -> None:
    partition(fencing(events))["leader"] = "broker2"


def fenced_broker_leads_on(events: Events) -> None:
    partition(fencing(events))["leader"] = "broker0"


def fenced_broker_stays_in_the_isr(events: Events) -> None:
    partition(fencing(events))["isr"] = ["broker0", "broker1", "broker2"]


def another_replica_leaves_the_isr(events: Events) -> None:
    partition(fencing(events))["isr"] = ["broker1"]


def partition_epoch_stays(events: Events) -> None:
    partition(fencing(events))["partition_epoch"] = 0


def leader_epoch_stays(events: Events) -> None:
    partition(fencing(events))["leader_epoch"] = 0


def leader_epoch_rises_for_nothing(events: Events) -> None:
    for event in events[events.index(isr_change(events)) :]:
        if "state" in event:
            partition(event)["leader_epoch"] += 1


def replicas_change_unasked(events: Events) -> None:
    partition(fencing(events))["replicas"] = ["broker0", "broker2", "broker1"]


def broker_epoch_comes_back(events: Events) -> None:
    old = registration(fencing(events), "broker0")["broker_epoch"]
    for event in events[events.index(second_registration(events)) :]:
        if "state" in event:
            registration(event, "broker0")["broker_epoch"] = old


def incarnation_comes_back(events: Events) -> None:
    old = registration(fencing(events), "broker0")["incarnation"]
    for event in events[events.index(second_registration(events)) :]:
        if "state" in event:
            registration(event, "broker0")["incarnation"] = old


def registered_unfenced(events: Events) -> None:
    registration(second_registration(events), "broker0")["fenced"] = False


def fenced_broker_joins_the_isr(events: Events) -> None:
    partition(isr_change(events))["isr"] = ["broker0", "broker1", "broker2"]


def shutdown_leaves_no_mark(events: Events) -> None:
    at = index(events, "sigterm")
    for event in events[at:]:
        if "state" in event and registration(event, "broker1") is not None:
            registration(event, "broker1")["in_controlled_shutdown"] = False


def leader_shuts_down_and_leads_on(events: Events) -> None:
    at = index(events, "handle_heartbeat", 3)
    partition(events[at])["leader"] = "broker1"


# Of a run in which the registrations of a broker were refused.


def refusal(events: Events) -> Events:
    """A registration of broker 0 that is refused: request, decision, answer."""
    at = index(events, "send_registration", 1, process="broker0")
    return copy.deepcopy(events[at : at + 3])


def free_id_is_refused(events: Events) -> None:
    """Broker 0 is refused before any incarnation has its id."""
    found = refusal(events)
    at = index(events, "send_registration", process="broker0")
    found[1]["state"] = copy.deepcopy(events[at - 2]["state"])
    events[at:at] = found


def refused_behind_its_lease(events: Events) -> None:
    """Broker 0 is refused once more, when the lease of its predecessor is over: that is fenced for it."""
    at = index(events, "fence_expired", broker="broker0")
    found = refusal(events)
    found[1]["state"] = copy.deepcopy(events[at]["state"])
    events[at + 1 : at + 1] = found


def another_isr_was_asked_for(events: Events) -> None:
    events[index(events, "ask_for_isr")]["parameters"]["isr"] = ["broker1"]


def _named(*changes: Callable[[Events], None]) -> dict[str, Callable[[Events], None]]:
    return {change.__name__: change for change in changes}


OF_REFUSED = _named(free_id_is_refused, refused_behind_its_lease, another_isr_was_asked_for)
ALL = _named(
    fencing_is_left_out, creation_is_left_out, change_of_the_isr_is_left_out, sigterm_is_left_out,
    start_is_left_out, crash_is_of_another, another_is_fenced, unfenced_before_registered,
    leader_is_not_the_first_replica, fenced_broker_leads_on, fenced_broker_stays_in_the_isr,
    another_replica_leaves_the_isr, partition_epoch_stays, leader_epoch_stays, leader_epoch_rises_for_nothing,
    replicas_change_unasked, broker_epoch_comes_back, incarnation_comes_back, registered_unfenced,
    fenced_broker_joins_the_isr, shutdown_leaves_no_mark, leader_shuts_down_and_leads_on,
)  # fmt: skip


def corrupted(text: str, changes: Mapping[str, Callable[[Events], None]]) -> str:
    """A file with a trace of each kind of corruption, which is named for it."""
    header, events = parsed(text)
    found = []
    for name, change in changes.items():
        changed = copy.deepcopy(events)
        change(changed)
        found.append(written(header, changed, name))
    return "".join(found)
