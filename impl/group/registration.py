"""Registrations of consumers: what is accepted, and what is refused and why (Consumer Coordinator, 7)."""

from __future__ import annotations

from typing import NamedTuple

from impl.group.fetch_protocol import EARLIEST, LATEST
from impl.group.protocol import ErrorCode, RegisterConsumerRequest
from impl.group.registry import Group, Member
from impl.group.settings import BrokerSettings
from impl.group.topic_count import Subscription, TopicCountError, is_topic, read_topic_count
from impl.group.znodes import is_group
from impl.runtime.properties import MOST_INT32

_START_OFFSETS = {"largest": LATEST, "smallest": EARLIEST}


class Judgement(NamedTuple):
    """The outcome of a registration as far as ZooKeeper is not needed. subscription: None where it is refused."""

    code: ErrorCode
    why: str = ""
    subscription: Subscription | None = None


def judge(request: RegisterConsumerRequest, group: Group | None, settings: BrokerSettings) -> Judgement:
    """Whether a registration is accepted. group: as it is now; None: it has no registry yet."""
    if not is_group(request.group) or not is_topic(request.consumer):
        return Judgement(ErrorCode.BAD_GROUP, "ids of groups and consumers are letters, digits, '.', '_' and '-'")
    if request.auto_offset_reset not in _START_OFFSETS:
        return Judgement(ErrorCode.BAD_GROUP, f"auto_offset_rest is {request.auto_offset_reset[:20]!r}")
    is_back = settings.design.by_sockets and group is not None and group.awaits(request.consumer)
    is_known = group is not None and request.consumer in group.members
    if is_known and not is_back:
        return Judgement(ErrorCode.CONSUMER_ID_IN_USE, "a consumer of this id is registered")
    least = settings.min_consumer_session_ms
    most = settings.max_consumer_session_ms if settings.design.session_maximum else MOST_INT32
    if not least <= request.session_timeout_ms <= most:
        why = f"{request.session_timeout_ms} ms; from {least} to {most} are accepted"
        return Judgement(ErrorCode.SESSION_TIMEOUT_OUT_OF_BOUNDS, why)
    try:
        return Judgement(ErrorCode.NONE, subscription=read_topic_count(request.topic_count))
    except TopicCountError as error:
        return Judgement(ErrorCode.BAD_TOPIC_COUNT, str(error))


def new_member(connection: int, request: RegisterConsumerRequest, subscription: Subscription, now_ms: int) -> Member:
    """The registry of a consumer that is accepted."""
    return Member(
        group=request.group,
        consumer=request.consumer,
        connection=connection,
        session_timeout_ms=request.session_timeout_ms,
        subscription=subscription,
        auto_commit=request.auto_commit,
        start_offset=_START_OFFSETS[request.auto_offset_reset],
        heard_ms=now_ms,
    )
