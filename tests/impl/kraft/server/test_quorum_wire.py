"""The bytes of the quorum's requests and responses give back what they were made of; others are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.fetch.v18 import request as fetch_request

from impl.kraft.errors import ErrorCode
from impl.kraft.raft import messages
from impl.kraft.raft.messages import RESPONSES, Request, Response
from impl.kraft.server.quorum_wire import (
    SERVED,
    TOPIC_ID,
    key_of,
    read_request,
    read_response,
    refused,
    request_bytes,
    response_bytes,
)
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.wire import WireError

IDS, EPOCHS = st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1)
OFFSETS = st.integers(0, 2**62)
SNAPSHOT_IDS = st.tuples(OFFSETS, EPOCHS)
CLUSTERS = st.text("abcXYZ019-_", min_size=1, max_size=30)
SIZES = st.integers(0, 2**31 - 1)
REQUESTS: st.SearchStrategy[Request] = st.one_of(
    st.builds(messages.VoteRequest, CLUSTERS, IDS, IDS, EPOCHS, EPOCHS, OFFSETS, st.booleans()),
    st.builds(messages.BeginQuorumEpochRequest, CLUSTERS, IDS, IDS, EPOCHS),
    st.builds(messages.EndQuorumEpochRequest, CLUSTERS, IDS, EPOCHS, st.lists(IDS, max_size=4).map(tuple)),
    st.builds(messages.FetchRequest, CLUSTERS, IDS, EPOCHS, OFFSETS, EPOCHS, OFFSETS, SIZES, SIZES),
    st.builds(messages.FetchSnapshotRequest, CLUSTERS, IDS, EPOCHS, SNAPSHOT_IDS, OFFSETS, SIZES),
)
LEADERS = st.none() | IDS
OF_ALL = (ErrorCode.INCONSISTENT_CLUSTER_ID, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
ERRORS = st.sampled_from([code for code in ErrorCode if code not in OF_ALL])
RESPONSE_STRATEGIES: dict[type[Response], st.SearchStrategy[Response]] = {
    messages.VoteResponse: st.builds(messages.VoteResponse, ERRORS, LEADERS, EPOCHS, st.booleans()),
    messages.BeginQuorumEpochResponse: st.builds(messages.BeginQuorumEpochResponse, ERRORS, LEADERS, EPOCHS),
    messages.EndQuorumEpochResponse: st.builds(messages.EndQuorumEpochResponse, ERRORS, LEADERS, EPOCHS),
    messages.FetchResponse: st.builds(
        messages.FetchResponse, ERRORS, LEADERS, EPOCHS, OFFSETS, st.none() | st.tuples(EPOCHS, OFFSETS),
        st.binary(max_size=40), st.none() | SNAPSHOT_IDS,
    ),
    messages.FetchSnapshotResponse: st.builds(
        messages.FetchSnapshotResponse, ERRORS, LEADERS, EPOCHS, OFFSETS, OFFSETS, st.binary(max_size=40)
    ),
}  # fmt: skip


@given(REQUESTS, st.data())
def test_what_is_written_is_read(request: Request, data: st.DataObject) -> None:
    assert read_request(key_of(request), request_bytes(request)) == request
    response = data.draw(RESPONSE_STRATEGIES[RESPONSES[type(request)]])
    assert read_response(request, response_bytes(response)) == response


@given(REQUESTS, st.data())
def test_older_versions_say_all_but_what_they_have_no_field_for(request: Request, data: st.DataObject) -> None:
    version = data.draw(st.integers(*SERVED[key_of(request)]))
    assert read_request(key_of(request), request_bytes(request, version), version) == said(request, version)
    response = data.draw(RESPONSE_STRATEGIES[RESPONSES[type(request)]])
    assert read_response(request, response_bytes(response, version), version) == response
    refusal = refused(key_of(request), ErrorCode.CLUSTER_AUTHORIZATION_FAILED, version)
    assert read_response(request, refusal, version).error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def said(request: Request, version: int) -> Request:
    """What a version says of a request."""
    match request:
        case messages.VoteRequest():
            voter_id, pre_vote = request.voter_id if version else None, request.pre_vote and version == 2
            return replace(request, voter_id=voter_id, pre_vote=pre_vote)
        case messages.BeginQuorumEpochRequest() if version == 0:
            return replace(request, voter_id=None)
        case messages.FetchRequest() if version < 18:
            return replace(request, high_watermark=messages.UNTOLD)
        case _:
            return request


@given(REQUESTS, st.sampled_from(OF_ALL))
def test_who_is_from_elsewhere_or_may_not_ask_is_told_above_all(request: Request, error: ErrorCode) -> None:
    response = RESPONSES[type(request)](error, 1, 7)
    assert read_response(request, response_bytes(response)) == RESPONSES[type(request)](error, None, 0)


EVERY_VERSION = [(key, version) for key, (least, newest) in SERVED.items() for version in range(least, newest + 1)]


@given(st.sampled_from(EVERY_VERSION), st.binary(max_size=80))
def test_anything_else_is_refused(which: tuple[int, int], body: bytes) -> None:
    key, version = which
    try:
        read_request(key, body, version)
    except WireError:
        return


@given(REQUESTS, st.data())
def test_what_is_cut_short_or_goes_on_is_refused(request: Request, data: st.DataObject) -> None:
    body = request_bytes(request)
    cut = data.draw(st.integers(0, len(body) - 1))
    for other in (body[:cut], body + b"\x00"):
        with pytest.raises(WireError):
            read_request(key_of(request), other)


def test_another_partition_is_refused() -> None:
    fetch = messages.FetchRequest("c", 1, 1, 0, 0, -1, 500, 100)
    entity = read_entity(fetch_request.FetchRequest, request_bytes(fetch))
    assert entity.topics[0].topic_id == TOPIC_ID
    none = type(entity)(max_wait=entity.max_wait, min_bytes=entity.min_bytes, topics=(), forgotten_topics_data=())
    with pytest.raises(WireError, match="one partition"):
        read_request(1, entity_bytes(none))
