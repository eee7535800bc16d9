"""Connections once something was sent or an end was closed."""

from __future__ import annotations

from checker.lang import Map, Set, replace
from spec.group.design import Design
from spec.group.messages import Registered, Request
from spec.group.state import Channel, Cluster, ConsumerProcess
from spec.group.types import Broker, Consumer, ConsumerState


def unconnected() -> Channel:
    return Channel(peer=None, server=None, broken=False, requests=(), responses=())


def has_room(s: Cluster, broker: Broker, consumer: Consumer) -> bool:
    """A request can be sent. Where the other end is gone, what is sent is lost."""
    return not is_open(s, broker, consumer) or len(s.channels[consumer].requests) < Design.queue


def is_open(s: Cluster, broker: Broker, consumer: Consumer) -> bool:
    """The consumer's end of its connection with this broker is open, and the broker's end."""
    channel = s.channels[consumer]
    return channel.peer == broker and channel.server == broker and not channel.broken


def with_request(s: Cluster, broker: Broker, consumer: Consumer, request: Request) -> Channel:
    """A connection once the broker has sent a request. Without response_first it may overtake the first answer."""
    channel = s.channels[consumer]
    if not is_open(s, broker, consumer):
        return replace(channel)
    waiting = channel.requests
    if not Design.response_first and len(waiting) > 0 and isinstance(waiting[-1], Registered):
        return replace(channel, requests=waiting[:-1] + (request, waiting[-1]))
    return replace(channel, requests=waiting + (request,))


def closed_by_consumer(channel: Channel) -> Channel:
    """The consumer has closed its end: what it has answered may still be read."""
    return replace(channel, peer=None, broken=False, requests=())


def closed_by_broker(channel: Channel, broker: Broker) -> Channel:
    """The broker has closed its end, or is gone: what it has sent may still be read."""
    ends = channel.server == broker
    return replace(
        channel,
        server=None if ends else channel.server,
        responses=() if ends else channel.responses,
        broken=channel.broken or channel.peer == broker,
    )


def without_broker(s: Cluster, broker: Broker) -> Map[Consumer, Channel]:
    """The connections once all of a broker's are closed."""
    return Map({c: closed_by_broker(s.channels[c], broker) for c in Consumer})


def removed_from(s: Cluster, broker: Broker, gone: Set[Consumer]) -> Map[Consumer, Channel]:
    """The connections once a broker has closed those under which some consumers are registered."""
    return Map(
        {
            c: closed_by_broker(s.channels[c], broker)
            if c in gone and s.channels[c].server == broker
            else replace(s.channels[c])
            for c in Consumer
        }
    )


def started_anew(process: ConsumerProcess) -> ConsumerProcess:
    """A consumer that has stopped its fetchers and looks for the coordinator; one that shuts down does not."""
    after = ConsumerState.DOWN if process.state == ConsumerState.SHUTTING_DOWN else ConsumerState.STARTING
    return replace(process, state=after, lapsed=False, fetched=frozenset(), answered=0)
