"""Invariants, transition invariants, witnesses, liveness properties and lemmas of KIP-631.

`STATEMENTS` numbers what the design must guarantee; a property names in its source the statements that it is part of.
"""

from spec.kraft.properties import (
    alter_isr,
    broker_states,
    failover,
    heartbeat,
    isr,
    leader_election,
    leadership,
    proof_lemmas,
    raft,
    raft_cuts,
    raft_matching,
    raft_snapshots,
    raft_voters,
    reassignment,
    registration,
    replica_logs,
    replication,
    shutdown,
    timed,
    topics,
)

__all__ = [
    "alter_isr", "broker_states", "failover", "heartbeat", "isr", "leader_election", "leadership", "proof_lemmas",
    "raft", "raft_cuts", "raft_matching", "raft_snapshots", "raft_voters", "reassignment", "registration",
    "replica_logs", "replication", "shutdown", "timed", "topics",
]  # fmt: skip

STATEMENTS = {
    "S1": "A request of a superseded incarnation never changes committed state, and no two incarnations serve "
    "one leader epoch.",
    "S2": "The broker epochs of an id rise from one incarnation to the next, and an incarnation never has two.",
    "S3": "A leader, where there is one, is in the ISR, registered, unfenced and not shutting down.",
    "S4": "The ISR lies within the replicas and is never empty. A fenced or unregistered broker is in an ISR "
    "only as its last member, and does not lead.",
    "S5": "Leader and partition epochs of a topic id never go back, and each change of leader raises the leader epoch.",
    "S6": "A metadata response lists only brokers that are registered and unfenced at the offset that the "
    "answerer has applied, and no controllers.",
    "S7": "Nothing that was replied as a success or published is ever truncated.",
    "S8": "A broker that is told to shut down leads nothing in committed state.",
    "S8'": "When a broker is told to shut down, no active broker's image still says that it leads.",
    "S9": "A broker is fenced only after its lease ran out, as it must have before a new incarnation takes its place, "
    "or on its own wish.",
    "S10": "A reassignment never empties an ISR, never completes while a target is outside the ISR, and does not "
    "take the ISR below min.insync.replicas if it was not below before.",
    "S11": "The active controller's state is the replay of its log; a snapshot and the rest of the log replay to "
    "the same.",
    "S12": "While leader and controller are at the same leader epoch, the leader's maximal ISR includes the "
    "controller's.",
    "S13": "A record acknowledged by the whole ISR, of at least min.insync.replicas members, survives every "
    "allowed failure.",
    "S14": "The controllers' logs match up to the high watermark, and a broker's image is a committed prefix.",
    "S15": "A deleted topic stays deleted.",
    "S16": "Every topic is complete at the end of each batch.",
    "L1": "A silent broker is eventually fenced, also across failovers.",
    "L2": "A ready broker that keeps its registration is eventually unfenced.",
    "L3": "A controlled shutdown ends once every active broker applies metadata.",
    "L4": "A pending AlterIsr is eventually resolved.",
    "L5": "A reassignment whose targets are healthy completes.",
    "L6": "Some controller becomes active.",
    "L7": "A leaderless partition with an active ISR member eventually has a leader.",
    "R1": "An epoch of the quorum has one leader.",
    "R2": "The leader of a newer epoch has all that was ever committed.",
    "R3": "Where two logs have a batch of the same epoch at the same offset, they are the same up to there.",
    "R4": "What a voter applies is committed, and is the same at every voter.",
    "R5": "The high watermark never goes back at a voter while it runs, nor at the quorum over elections.",
    "R6": "No committed batch is cut, and what is acknowledged is on the disks of a majority.",
    "R7": "A voter votes once in an epoch, over crashes.",
    "R8": "A voter acknowledges nothing that a crash of it alone can take away.",
    "R9": "A snapshot ends where a committed batch does, and stands for what its log begins without.",
    "R10": "Epochs on disk never go back.",
    "RL1": "Some voter leads.",
    "RL2": "What a leader appends commits.",
    "RL3": "A follower behind the start of its leader's log gets there by a snapshot.",
    "RL4": "A leader that is cut off from its majority steps down.",
    "RL5": "A voter that comes back from a partition deposes nobody who has a majority.",
}
