"""The bytes of the metadata: golden vectors, round trips of every version, and bytes that cannot be read."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impl.streams.codec import (
    LATEST,
    Format,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    shared_bytes,
)
from impl.streams.errors import Cause, TaskAssignmentException
from impl.streams.metadata import (
    NO_REBALANCE_MS,
    UNKNOWN,
    AssignmentInfo,
    FutureAssignment,
    FutureSubscription,
    HostPartitions,
    OffsetSum,
    StandbyTask,
    SubscriptionInfo,
    TaskId,
    TopicPartition,
)

PROCESS = UUID("01020304-0506-0708-1112-131415161718")
VERSIONS = range(1, LATEST + 1)
BACK_PORT = Format(2, has_tail=True)
PROCESS_BYTES = "0102030405060708 1112131415161718"
TASKS = "00000001 00000000 00000001 00000001 00000002 00000003"
STANDBYS = "00000001 00000000 00000001 00000001 00000002 00000003 00000001 0001 74 00000003"
HOSTS = "00000001 0001 68 00000050 00000001 0001 74 00000001"

# Written by the classes of these releases.
SUBSCRIPTIONS = [
    (1, Format(1), UNKNOWN, f"00000001 {PROCESS_BYTES} {TASKS}"),  # 0.10.0.1, 2.0.1
    (1, BACK_PORT, UNKNOWN, f"00000001 {PROCESS_BYTES} {TASKS} 00000004 683a3830"),  # 1.1.1
    (2, BACK_PORT, UNKNOWN, f"00000002 {PROCESS_BYTES} {TASKS} 00000004 683a3830"),  # 1.1.1
    (3, Format(3), 3, f"00000003 00000003 {PROCESS_BYTES} {TASKS} 00000004 683a3830"),  # 2.0.1
    (3, Format(4), 4, f"00000003 00000004 {PROCESS_BYTES} {TASKS} 00000004 683a3830"),  # 2.3.1
]
ASSIGNMENTS = [
    (1, Format(1), UNKNOWN, f"00000001 {STANDBYS}"),  # 0.10.0.1, 2.0.1
    (1, BACK_PORT, UNKNOWN, f"00000001 {STANDBYS} {HOSTS}"),  # 1.1.1
    (2, BACK_PORT, UNKNOWN, f"00000002 {STANDBYS} {HOSTS}"),  # 1.1.1
    (3, Format(3), 3, f"00000003 00000003 {STANDBYS} {HOSTS}"),  # 2.0.1
    (4, Format(4), 3, f"00000004 00000003 {STANDBYS} {HOSTS} 00000000"),  # 2.3.1
]


@pytest.mark.parametrize(("used", "form", "supported", "golden"), SUBSCRIPTIONS)
def test_subscriptions_of_releases(used: int, form: Format, supported: int, golden: str) -> None:
    info = SubscriptionInfo(
        used, supported, PROCESS, (TaskId(0, 1),), (OffsetSum(TaskId(2, 3)),), "h:80" if used > 1 else ""
    )
    tailed = SubscriptionInfo(used, supported, PROCESS, info.previous, info.standby, "h:80")
    assert encode_subscription(tailed, form) == bytes.fromhex(golden)
    assert decode_subscription(bytes.fromhex(golden), form) == info


@pytest.mark.parametrize(("used", "form", "supported", "golden"), ASSIGNMENTS)
def test_assignments_of_releases(used: int, form: Format, supported: int, golden: str) -> None:
    standby = (StandbyTask(TaskId(2, 3), (TopicPartition("t", 3),)),)
    hosts = (HostPartitions("h", 80, (TopicPartition("t", 1),)),)
    info = AssignmentInfo(used, supported, (TaskId(0, 1),), standby, hosts)
    read = AssignmentInfo(used, supported, info.active, standby, hosts if used > 1 else ())
    assert encode_assignment(info, form) == bytes.fromhex(golden)
    assert decode_assignment(bytes.fromhex(golden), form) == read


def test_bytes_from_version_5_on() -> None:
    """By the layouts of the messages: a dictionary, offset sums by group and by task, a topology, a client tag."""
    hosts = (HostPartitions("h", 80, (TopicPartition("t", 1),)),)
    dictionary = "00000001 00000000 0001 74  00000001 0001 68 00000050 00000001 00000000 00000001"
    empty, never = "00000000 00000000", "7fffffffffffffff"
    five, nine = AssignmentInfo(5, 5, hosts=hosts), AssignmentInfo(9, 9, hosts=hosts, error=1)
    assert encode_assignment(five) == bytes.fromhex(f"00000005 00000005 {empty} {dictionary} 00000000")
    assert encode_assignment(nine) == bytes.fromhex(f"00000009 00000009 {empty} {dictionary} 00000000 00000001 {never}")
    ten = AssignmentInfo(10, 10, (TaskId(0, 1, "ab"),))
    assert encode_assignment(ten) == bytes.fromhex(
        f"0000000a 0000000a 00000001 00000000 00000001 00000002 00610062 00000000 {empty} 00000000 00000000 {never}"
    )
    head = f"{PROCESS_BYTES} 00000000"
    seven = SubscriptionInfo(7, 7, PROCESS, (TaskId(0, 1),), (OffsetSum(TaskId(0, 2), 5),))
    assert encode_subscription(seven) == bytes.fromhex(
        f"00000007 00000007 {head} 00000001 00000000 0000000200000001 fffffffffffffffe 00000002 0000000000000005"
    )
    eleven = SubscriptionInfo(11, 11, PROCESS, (TaskId(0, 1, "ab"),), unique=-1, error=2, tags=((b"k", b"v"),))
    assert encode_subscription(eleven) == bytes.fromhex(
        f"0000000b 0000000b {head} 00000001 00000000 00000001 fffffffffffffffe 0002 6162"
        "ff 00000002 00000001 00000001 6b 00000001 76"
    )


int32s = st.integers(-(1 << 31), (1 << 31) - 1)
int64s = st.integers(-(1 << 63), (1 << 63) - 1)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


def tasks(version: int) -> st.SearchStrategy[TaskId]:
    return st.builds(TaskId, int32s, int32s, names if version >= 10 else st.just(""))


def partitions() -> st.SearchStrategy[TopicPartition]:
    return st.builds(TopicPartition, names, int32s)


def several(one: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(one, max_size=3).map(tuple)


@st.composite
def subscriptions(draw: st.DrawFn) -> SubscriptionInfo:
    """A value of which a version carries all; of versions 7 to 9 with the tasks of a group together."""
    version = draw(st.sampled_from(VERSIONS))
    sums = int64s.filter(lambda value: value != -2) if version >= 7 else st.just(-3)
    standby = st.lists(st.builds(OffsetSum, tasks(version), sums), max_size=3)
    return SubscriptionInfo(
        version,
        draw(int32s) if version >= 3 else UNKNOWN,
        UUID(int=draw(st.integers(0, (1 << 128) - 1))),
        tuple(sorted(draw(st.lists(tasks(version), max_size=3)))),
        tuple(sorted(draw(standby))),
        draw(names) if version >= 2 else "",
        draw(st.integers(-128, 127)) if version >= 8 else 0,
        draw(int32s) if version >= 9 else 0,
        draw(several(st.tuples(st.binary(max_size=3), st.binary(max_size=3)))) if version >= 11 else (),  # type: ignore[arg-type]  # pairs, or none
    )


@st.composite
def assignments(draw: st.DrawFn) -> AssignmentInfo:
    """A value of which a version carries all."""
    version = draw(st.sampled_from(VERSIONS))
    hosts = several(st.builds(HostPartitions, names, int32s, several(partitions())))
    found: dict[str, object] = {
        "active": draw(several(tasks(version))),
        "standby": draw(several(st.builds(StandbyTask, tasks(version), several(partitions())))),
        "hosts": draw(hosts) if version >= 2 else (),
        "standby_hosts": draw(hosts) if version >= 6 else (),
        "error": draw(int32s) if version >= 4 else 0,
        "next_rebalance_ms": draw(int64s) if version >= 7 else NO_REBALANCE_MS,
    }
    return AssignmentInfo(version, draw(int32s) if version >= 3 else UNKNOWN, **found)  # type: ignore[arg-type]  # drawn by name


@pytest.mark.long("hundreds of values")
@settings(max_examples=200, deadline=None)
@given(subscriptions())
def test_subscriptions_come_back(info: SubscriptionInfo) -> None:
    data = encode_subscription(info)
    assert decode_subscription(data) == info
    again = decode_subscription(data + b"\0") if info.used == 1 else info
    assert again == info


@pytest.mark.long("hundreds of values")
@settings(max_examples=200, deadline=None)
@given(assignments())
def test_assignments_come_back(info: AssignmentInfo) -> None:
    data = encode_assignment(info)
    assert decode_assignment(data) == info
    shared = shared_bytes(info.used, info.hosts, info.standby_hosts)
    assert encode_assignment(info, shared=shared) == data


@pytest.mark.long("hundreds of values")
@settings(max_examples=200, deadline=None)
@given(assignments(), subscriptions(), st.data())
def test_what_is_cut_is_refused(
    assignment: AssignmentInfo, subscription: SubscriptionInfo, data: st.DataObject
) -> None:
    """Cut anywhere, or with a byte too many: never read, and the message says at which byte."""
    for whole, decode, version in (
        (encode_assignment(assignment), decode_assignment, assignment.used),
        (encode_subscription(subscription), decode_subscription, subscription.used),
    ):
        size = data.draw(st.integers(0, len(whole) - 1))
        others = [whole[:size]] if version == 1 else [whole[:size], whole + b"\0"]
        for other in others:
            with pytest.raises(TaskAssignmentException, match=r"^byte \d+: ") as refused:
                decode(other)
            assert refused.value.cause is Cause.MALFORMED
            assert refused.value.offset is not None and 0 <= refused.value.offset <= len(other)


@pytest.mark.long("hundreds of values")
@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60), st.sampled_from(VERSIONS), st.booleans())
def test_any_bytes_are_read_or_refused(data: bytes, version: int, has_version: bool) -> None:
    data = version.to_bytes(4) + data if has_version else data
    for decode in (decode_subscription, decode_assignment):
        try:
            decode(data)
        except TaskAssignmentException as refused:
            assert refused.offset is not None and str(refused).startswith(f"byte {refused.offset}: ")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("", "byte 0: version: 4 bytes expected, 0 there"),
        ("00000000", "byte 0: version 0: versions begin at 1"),
        ("ffffffff", "byte 0: version -1: versions begin at 1"),
        ("00000003 0000", "byte 4: supported version: 4 bytes expected, 2 there"),
        (f"00000002 {PROCESS_BYTES} ffffffff", "byte 20: previous tasks: -1 entries in the 0 bytes left"),
        (f"00000002 {PROCESS_BYTES} 10000000 0000", "byte 20: previous tasks: 268435456 entries in the 2 bytes left"),
        (f"00000002 {PROCESS_BYTES} 00000000 00000000 00000002 68ff", "byte 33: user endpoint: not UTF-8"),
        (f"00000002 {PROCESS_BYTES} 00000000 00000000 00000000 00", "byte 32: 1 bytes after the last field"),
        ("0000000c", "byte 4: supported version: 4 bytes expected, 0 there"),
    ],
)
def test_subscriptions_that_are_refused(data: str, why: str) -> None:
    with pytest.raises(TaskAssignmentException, match=f"^{re.escape(why)}"):
        decode_subscription(bytes.fromhex(data))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("00000005 00000005 00000000 00000000 00000000 00000001 0001 68 00000050 00000001 00000007 00000001",
         "byte 35: topic 7 is not in the dictionary"),
        ("00000002 00000000 00000000 00000001 0001 c0 00000050 00000000", "byte 18: host: not modified UTF-8"),
        ("00000002 00000000 00000000 00000001 0004 f09f9880 00000050 00000000", "byte 18: host: not modified UTF-8"),
        ("00000002 00000000 00000000 00000001 0003 eda080 00000050 00000000", "byte 18: host: not modified UTF-8"),
    ],
)  # fmt: skip
def test_assignments_that_are_refused(data: str, why: str) -> None:
    with pytest.raises(TaskAssignmentException, match=f"^{re.escape(why)}"):
        decode_assignment(bytes.fromhex(data))


def test_names_as_java_writes_them() -> None:
    hosts = (HostPartitions("\0é\U0001f600", 1, ()),)
    data = encode_assignment(AssignmentInfo(2, UNKNOWN, hosts=hosts))
    assert bytes.fromhex("000a c080 c3a9 eda0bd edb880") in data
    assert decode_assignment(data) == AssignmentInfo(2, UNKNOWN, hosts=hosts)
    with pytest.raises(TaskAssignmentException, match="65536 bytes"):
        encode_assignment(AssignmentInfo(2, UNKNOWN, hosts=(HostPartitions("x" * 65536, 1, ()),)))


def test_versions_that_are_not_known() -> None:
    """A future subscription is read up to both versions, whatever follows; nobody writes above its own."""
    data = encode_subscription(SubscriptionInfo(9, 11, PROCESS))
    assert decode_subscription(data, Format(5)) == FutureSubscription(9, 11)
    assert decode_assignment(encode_assignment(AssignmentInfo(9, 9)), Format(8)) == FutureAssignment(9)
    with pytest.raises(TaskAssignmentException, match="version 4 cannot be written: versions 1 to 3") as refused:
        encode_subscription(SubscriptionInfo(4, 4, PROCESS), Format(3))
    assert refused.value.cause is Cause.CANNOT_ENCODE
    with pytest.raises(TaskAssignmentException, match="version 4 cannot be written"):
        encode_assignment(AssignmentInfo(4, 4), Format(3))


def test_a_simulated_version_has_the_layout_of_the_one_before() -> None:
    simulated = Format(4, is_simulated=True)
    info = SubscriptionInfo(4, 4, PROCESS, (TaskId(0, 1),))
    data = encode_subscription(info, simulated)
    assert data[8:] == encode_subscription(SubscriptionInfo(3, 3, PROCESS, (TaskId(0, 1),)))[8:]
    assert decode_subscription(data, simulated) == info
    assert decode_subscription(data, Format(3)) == FutureSubscription(4, 4)
    assert encode_assignment(AssignmentInfo(4, 4), simulated) == encode_assignment(AssignmentInfo(4, 4))[:-4]
