"""Two leases and the incarnations that hold them: what the document leaves open, or has the wrong way round."""

from __future__ import annotations

from checker.lang import Bug
from spec.heartbeat.models.leases import LEASES
from spec.heartbeat.models.operations import ZOMBIE
from spec.heartbeat.models.sessions import DISK_AND_FAILOVER, FAILOVER, SESSIONS, TWINS
from spec.heartbeat.properties import leadership, records

LONGER_TIMEOUT = Bug(
    name="longer-broker-timeout",
    title="A broker fences itself after the controller has given its leadership away",
    label="draft only",
    found_in="KIP-343, Controller-Side Heartbeat Timeout (the broker-side timeout should be longer)",
    story="""The document wants the broker to fence itself only once the controller has declared it inactive. A leader
        is cut off from the controller. The controller's timeout runs out, and another broker leads. Until its own,
        longer timeout runs out, the first goes on to serve its clients: two leaders.""",
    model=LEASES,
    constants={"broker_fences_first": False},
    violates=leadership.one_process_serves,
    states=5,
    guard="The broker's timeout is the shorter one, by more than an interval.",
)

LATE_REPLY = Bug(
    name="lease-from-the-reply",
    title="A late reply unfences a broker whose lease is over",
    label="draft only",
    found_in="KIP-343, Broker-Side Heartbeat Timeout (from when it counts is not said)",
    story="""The shorter timeout of the broker helps only if both count from the same heartbeat. The controller counts
        from handling it. If the broker counts from the reply, and the reply is late, the controller's lease is over
        when the broker's begins.""",
    model=LEASES,
    constants={"lease_from_sending": False},
    violates=leadership.one_process_serves,
    states=10,
    guard="The broker counts its lease from sending the heartbeat that was answered.",
)

STALE_UNFENCE = Bug(
    name="stale-unfence",
    title="A broker that comes back serves with the leadership that it had before",
    label="draft only",
    found_in="KIP-343, Controller-Side Heartbeat Timeout (it can be declared active again)",
    story="""A leader was cut off, and another broker leads in its place. It comes back, its heartbeat succeeds, and
        it is unfenced. The request that tells it of the new leader is still under way: it serves with its old
        leadership.""",
    model=LEASES,
    constants={"fresh_unfence": False},
    violates=leadership.one_process_serves,
    states=10,
    guard="The controller answers ACTIVE once all control requests that it owes to that incarnation are acknowledged.",
)

FORMER_REPLY = Bug(
    name="reply-to-the-former",
    title="A reply to the former incarnation unfences the next one",
    label="draft only",
    found_in="KIP-343, MetadataHeartbeatResponse (its ids are promised, and not in its schema)",
    story="""A broker's session ends after a heartbeat was answered, and it registers again: a new incarnation,
        fenced, with the memory of the old one. Then the reply arrives. Nothing in it says for which incarnation it
        is.""",
    model=SESSIONS,
    constants={"reply_names_incarnation": False},
    violates=leadership.leader_epoch_is_of_one_incarnation,
    states=6,
    guard="A reply names the broker id and the incarnation that it is for.",
)

SAME_MEMORY = Bug(
    name="same-memory",
    title="A new incarnation goes on with the leadership of the old one",
    label="draft only",
    found_in="KIP-343, Broker Incarnation ID (to uniquely identify each instance)",
    story="""The czxid changes with each session. A live process whose session has ended gets a new incarnation,
        without a restart, and serves on: two incarnations in one leader epoch, and the controller knows of one.""",
    model=SESSIONS,
    constants={"reregistration_fences": False},
    violates=leadership.leader_epoch_is_of_one_incarnation,
    states=3,
    guard="A process that registers again fences itself.",
)

SUPERSEDED_AT_ONCE = Bug(
    name="superseded-at-once",
    title="A higher incarnation counts at once, while the lower one serves",
    label="draft only",
    found_in="KIP-343, Controller Logic (will update the target incarnation ID in memory)",
    story="""The session of a leader ends while its lease runs. The controller sees that its znode is gone, or
        that there is a higher incarnation, and elects another broker. The first has an answered heartbeat, and
        serves on.""",
    model=SESSIONS,
    constants={"supersedes_after_lease": False},
    violates=leadership.one_process_serves,
    states=6,
    guard="The controller waits until the lease of the lower incarnation is over.",
)

HIDDEN_BOUNCE = Bug(
    name="failover-hides-a-bounce",
    title="A failover hides that a leader's incarnation is another one",
    label="draft only; Kafka 3.9 compares none on taking office either",
    found_in="KIP-343, Controller Logic (in memory)",
    story="""The incarnation that a controller goes by is in its memory only. The session of a leader ends, and the
        controller fails over. The new one finds no znode, or another incarnation, and does not know that a lease of
        the old one runs: the partition state names a broker id.""",
    model=FAILOVER,
    constants={"leader_incarnation": False},
    violates=leadership.one_process_serves,
    states=5,
    guard="The partition state names the leader's incarnation, and a new controller goes by it.",
)

HIDDEN_DISK = Bug(
    name="failover-hides-an-empty-disk",
    title="A failover hides that a follower is another incarnation, whose disk is empty",
    label="draft only; Kafka 3.9 compares none on taking office either",
    found_in="KIP-343, Controller Logic (in memory); KIP-903",
    story="""A member of the ISR dies with its disk, and registers again. Before the controller has noticed, it fails
        over. The new one reads the ids, finds the new incarnation there and its broker in the ISR, and takes it for a
        member that has every record that was acknowledged. That the partition state names the leader is not enough.""",
    model=DISK_AND_FAILOVER,
    constants={"follower_incarnations": False},
    violates=records.acknowledged_record_survives,
    states=10,
    guard="The partition state names the incarnation of each member: one that bounces leaves the ISR first.",
)

INACTIVE_AT_FIRST = Bug(
    name="inactive-after-failover",
    title="A new controller takes every broker for inactive, while all of them serve",
    label="draft only",
    found_in="KIP-343, Broker State (when the cluster is first initialized, all nodes will be inactive)",
    story="""If a new controller knows nobody, every partition loses its leader with each failover, and gets one again
        from whom it hears first. The old leader has an answered heartbeat, and serves on.""",
    model=FAILOVER,
    constants={"lease_begins_anew": False},
    violates=leadership.one_process_serves,
    states=8,
    guard="A new controller grants each registered broker one lease.",
)

GRANTED_LEASE = Bug(
    name="granted-lease",
    title="A new controller's grant unfences a broker that its predecessor had fenced",
    label="draft only; a hole of the first repair",
    found_in="design switches lease_begins_anew and fresh_unfence together",
    story="""A broker is fenced, and owed the request that another leads. The controller fails over. Its successor
        grants every registered broker a lease, so this one is ACTIVE, and its next heartbeat is answered so: it is
        unfenced with its old leadership.""",
    model=FAILOVER,
    constants={"grant_is_acknowledged": False},
    violates=leadership.leader_epoch_is_of_one_incarnation,
    states=10,
    guard="An active broker, too, is answered once it has acknowledged all control requests.",
)

CZXID_OF_ANOTHER = Bug(
    name="czxid-of-another",
    title="A process reads the incarnation of another process as its own",
    label="draft only",
    found_in="KIP-343, Broker Incarnation ID (in order to get this ID)",
    story="""Two processes have one id. The first registers, loses its session before it has read its czxid, and reads
        the znode of the second. Now both send one incarnation, and the controller cannot tell them apart.""",
    model=TWINS,
    constants={"max_expiries": 2, "max_silences": 0, "czxid_with_create": False},
    violates=leadership.leader_epoch_is_of_one_incarnation,
    states=14,
    guard="A broker takes its incarnation from the reply of its own create.",
)

FORMER_KEEPS_ALIVE = Bug(
    name="former-controller-renews",
    title="A former controller keeps a broker unfenced that its successor has given up",
    label="draft only",
    found_in="KIP-343, MetadataHeartbeatRequest (no controller epoch, no NOT_CONTROLLER)",
    story="""The session of the controller ends, and it has yet to hear of that. Another takes office. A broker still
        sends its heartbeats to the first, which answers; the second hears nothing, and elects another leader. The
        controller epoch in the heartbeat does not help where the broker knows of no other either.""",
    model=ZOMBIE,
    constants={"checks_registration": False},
    violates=leadership.one_process_serves,
    states=9,
    guard="A heartbeat counts only if a fresh read of ZooKeeper has that incarnation: a former controller cannot read.",
)

BUGS = [
    LONGER_TIMEOUT, LATE_REPLY, STALE_UNFENCE, FORMER_REPLY, SAME_MEMORY, SUPERSEDED_AT_ONCE, HIDDEN_BOUNCE,
    HIDDEN_DISK, INACTIVE_AT_FIRST, GRANTED_LEASE, CZXID_OF_ANOTHER, FORMER_KEEPS_ALIVE,
]  # fmt: skip
