"""Bugs of the quorum by messages and disks: votes, what is on disk when, what a restarted voter takes itself for."""

from __future__ import annotations

from checker.lang import Bug
from spec.kraft import models, properties

KAFKA_12619 = Bug(
    name="kafka-12619",
    title="A batch of an older epoch is exposed as committed, and is lost with the next election",
    label="known: KAFKA-12619",
    found_in="Apache Kafka before 3.0",
    story="""A controller is elected that has a batch of an older epoch, which nobody else has. It replicates the
        batch to one other voter: a majority has it, and the high watermark passes it. But the third voter has a batch
        of an epoch between the two. It stands, and the voter that has copied the older batch votes for it, for its
        log ends in a newer epoch. The new leader never had what brokers were told is committed.""",
    model=models.raft.RAFT_TORN,
    constants={"own_epoch_commits": False},
    violates=properties.raft_voters.leader_has_what_is_committed,
    states=12,
    guard="""The high watermark moves only once a batch of the leader's own epoch is on a majority. A voter that has
        it votes for no log that lacks what is before it.""",
)

KAFKA_10527 = Bug(
    name="kafka-10527",
    title="A leader leads on in its epoch after a restart, and writes another batch where it had one",
    label="known: KAFKA-10527",
    found_in="Apache Kafka's raft layer before its first release (2.7)",
    story="""A leader sends a batch to a follower before it has flushed it itself, and crashes. It restarts, finds in
        its file that it leads the epoch, and leads on; but its log has lost the batch. It writes another one at the
        same offset and in the same epoch. From offset and epoch nobody can tell the two apart: the follower keeps the
        first one for good, and the two logs differ below every high watermark to come.""",
    model=models.raft.RAFT_CRASH,
    constants={"restart_resigns": False},
    violates=properties.raft_voters.logs_of_voters_match,
    states=9,
    guard="A voter that finds at its start that it led the epoch has resigned from it.",
)

KAFKA_10661 = Bug(
    name="kafka-10661",
    title="A leader that restarts votes for another candidate in the epoch that it led",
    label="known: KAFKA-10661",
    found_in="Apache Kafka's raft layer before its first release (2.7)",
    story="""Two voters stand in one epoch, and one of them is elected. It crashes, and its file has the leader of the
        epoch, which it is not any more, and no vote. So it votes for the other one. The epoch has given more votes
        than there are voters, and may have two leaders.""",
    model=models.raft.RAFT_CRASH,
    constants={"restart_keeps_vote": False},
    violates=properties.raft_voters.one_vote_in_an_epoch,
    states=7,
    guard="A voter that finds at its start that it led the epoch has resigned, and votes for nobody in it.",
)

KAFKA_10533 = Bug(
    name="kafka-10533",
    title="A voter fetches from an offset that it has not flushed, and is counted",
    label="known: KAFKA-10533, KAFKA-13884, KAFKA-17332",
    found_in="Apache Kafka's raft layer before its first release (2.7), and twice since",
    story="""A fetch from an offset tells the leader that the voter has all before it. A voter fetches on before what
        it has appended is on disk: the leader counts it, and commits. If the voter crashes now it comes back without,
        and a majority without what was committed can elect a leader.""",
    model=models.raft.RAFT_CRASH,
    constants={"flush_before_fetch": False},
    violates=properties.raft_voters.acknowledged_is_on_disk,
    states=8,
    guard="A follower flushes what it has appended before it fetches from there.",
)

UNFLUSHED_LEADER = Bug(
    name="unflushed-leader",
    title="A leader counts its own log before it is on disk",
    label="draft only",
    found_in="""no release: Kafka's leader counts its whole log, but one thread appends and flushes before it reads
        the next fetch. With a flush in a thread of its own, or with a single voter, it must not""",
    story="""A leader appends a batch, and flushes it while it goes on. A follower fetches the batch, flushes it, and
        fetches again. The leader takes the two of them for a majority, moves the high watermark, and answers its
        client; its own copy is not on disk yet. It crashes: one voter in three has what was acknowledged.""",
    model=models.raft.RAFT_CRASH,
    constants={"counts_flushed_only": False},
    violates=properties.raft_voters.committed_is_on_disks_of_a_majority,
    states=8,
    guard="A leader counts itself up to where its log is on disk.",
)

FORGOTTEN_VOTE = Bug(
    name="forgotten-vote",
    title="A voter crashes, has forgotten its vote, and votes once more",
    label="draft only",
    found_in="no release: KIP-595 asks for a vote to be on disk before it is told",
    story="""Two voters stand in one epoch. The third votes for one of them, crashes before its vote is on disk, and
        votes for the other. Each of them has a majority.""",
    model=models.raft.RAFT_CRASH,
    constants={"vote_is_durable": False},
    violates=properties.raft_voters.one_vote_in_an_epoch,
    states=6,
    guard="A vote is on disk before the response that grants it.",
)

CANDIDATE_NOT_FLUSHED = Bug(
    name="candidate-not-flushed",
    title="A candidate is voted for with a log that it loses before it is elected",
    label="draft only",
    found_in="""no release: in Kafka a candidate's log is always on disk, for one thread appends and flushes. KIP-595
        does not ask for it""",
    story="""A leader sends a batch to both others before it has flushed it itself. They have it on disk, so it is
        committed. Another voter stands; the leader takes up its epoch, and then stands in the next one, with the
        batch in its log and still not on disk. It gets a vote, crashes, and restarts as the candidate that its file
        says it is; but its log has lost the batch. The vote was for a log that it no longer has. With its own it is
        elected, and it lacks what is committed.""",
    model=models.raft.RAFT_CANDIDATE,
    constants={"candidate_flushes": False},
    violates=properties.raft_voters.leader_has_what_is_committed,
    states=7,
    guard="A candidate's log is on disk before it asks for votes.",
)

WORSE_LOG = Bug(
    name="worse-log",
    title="A voter votes for a candidate whose log lacks what is committed",
    label="draft only",
    found_in="no release: KIP-595 asks voters to compare the logs",
    story="""A leader crashes and loses the end of its log, which the other two have on disk, so that it is committed.
        It stands in a newer epoch; another voter votes for it, though its own log is longer. The new leader lacks
        what is committed, and will have the others cut it off.""",
    model=models.raft.RAFT_CANDIDATE,
    constants={"vote_compares_logs": False},
    violates=properties.raft_voters.leader_has_what_is_committed,
    states=6,
    guard="A voter votes only for a candidate whose log ends in a newer epoch, or in the same and is not shorter.",
)

KAFKA_18379 = Bug(
    name="kafka-18379",
    title="A leader that has resigned follows itself",
    label="known: KAFKA-18379",
    found_in="Apache Kafka before 4.0",
    story="""A leader resigns, and its election timeout runs out. In its epoch it can neither vote nor stand, but it
        knows the leader of the epoch: itself. It becomes a follower of that, and waits for a leader that never
        answers.""",
    model=models.raft.RAFT_CRASH,
    constants={"resigned_raises_epoch": False},
    violates=properties.raft_voters.nobody_follows_itself,
    states=6,
    guard="A leader that has resigned takes up the next epoch, in which it may vote and stand.",
)

KAFKA_12460 = Bug(
    name="kafka-12460",
    title="A follower cuts off what it knows to be committed",
    label="known: KAFKA-12460",
    found_in="Apache Kafka's raft layer until March 2021 (pull request 10310)",
    story="""A batch is committed, and a voter that has it loses its disk. With another that never had the batch, it is
        a majority: they elect a leader whose log lacks what is committed. No static quorum survives that. But the
        third voter still has the batch, and knows that it is committed. Asked by its new leader to cut it off, it does
        so, and the last copy is gone without a word.""",
    model=models.raft.RAFT_EMPTIED,
    constants={"keeps_committed": False},
    violates=properties.raft_voters.applied_is_never_cut,
    states=15,
    guard="""A follower that is to truncate below its high watermark stops, and says why: what is committed is still on
        its disk, and somebody has to look.""",
)

KAFKA_15489 = Bug(
    name="kafka-15489",
    title="A leader that is cut off from all others leads on",
    label="known: KAFKA-15489",
    found_in="Apache Kafka before 3.7",
    story="""A leader is cut off from the other voters, and nothing tells it. They may elect another; the first leads on
        for as long as it is cut off, decides what never commits, and its clients wait for answers that never come.""",
    model=models.raft.RAFT_CUT,
    constants={"check_quorum": False},
    violates=properties.raft_cuts.leader_without_majority_resigns,
    states=8,
    guard="A leader from which no majority has fetched for one and a half fetch timeouts resigns.",
)

KIP_996 = Bug(
    name="kip-996",
    title="A voter stands although a leader serves a majority",
    label="known: KIP-996",
    found_in="Apache Kafka before 4.0",
    story="""A leader is elected, and serves another voter: it has a majority. The third has heard nothing of that, and
        stands. It wins nothing here; but each time its timeout runs out it stands in the next epoch, and the longer it
        hears nothing, as when it is cut off, the newer is the epoch with which it comes back. Who hears of that epoch
        takes it up, the leader among them.""",
    model=models.raft.RAFT_CUT,
    constants={"prevote": False},
    violates=properties.raft_cuts.nobody_stands_against_a_majority,
    states=8,
    guard="""A voter stands only where a majority tells it beforehand that it would vote for it; who is served by a
        leader would not.""",
)

KAFKA_20895 = Bug(
    name="kafka-20895",
    title="A leader resigns, and its followers refuse each other a vote",
    label="known: KAFKA-20895",
    found_in="Apache Kafka 4.3.1 (FollowerState.canGrantVote asks hasFetchedFromLeader); open in 2026",
    story="""A leader of five has served all others, and shuts down. It tells them so, with the order in which they are
        to stand. The first stands at once, but asks beforehand whether a majority would vote for it: the three others
        have fetched from a leader, and wait for their own turn, so that they refuse. Two of five is no majority, and
        the round is lost. With three voters, the one that has resigned is enough.""",
    model=models.raft.RAFT_RESIGNED,
    constants={"prevote_after_resignation": False},
    violates=properties.raft_cuts.resignation_costs_no_round,
    states=2,
    guard="Whoever is told that its leader resigns would vote for another from then on.",
)

KAFKA_14619 = Bug(
    name="kafka-14619",
    title="A snapshot ends within a batch, and who starts from it can append nothing any more",
    label="known: KAFKA-14619, KAFKA-17713; off by one: KAFKA-14618",
    found_in="""Apache Kafka until October 2024 (pull requests 17398, 17500); off by one until January 2023 (pull
        request 13108)""",
    story="""A leader writes a snapshot, and takes the offset of the last record in it for its end, which is the offset
        after that. It deletes the log before. A voter that has nothing is told to take the snapshot, and its log begins
        where that ends: at the last record of a batch. It fetches from there. Batches are never split, so the leader
        sends the whole one, which begins before the voter's log ends. The voter refuses it, and fetches again, for
        ever.""",
    model=models.raft.RAFT_SNAPSHOT,
    constants={"snapshot_ends_batch": False},
    violates=properties.raft_snapshots.catches_up_by_a_snapshot,
    states=18,
    guard="A snapshot ends where a batch does. Kafka refuses to write another one.",
)

KAFKA_14238 = Bug(
    name="kafka-14238",
    title="The log is deleted for its age, and no snapshot stands for it",
    label="known: KAFKA-14238, KAFKA-14240",
    found_in="Apache Kafka until September 2022 (pull request 12655)",
    story="""The log of the metadata is deleted as that of any other topic, segment by segment, as they grow old. A
        leader has no snapshot yet, and deletes batches that are committed. A voter that never had them fetches: what
        comes next for it is not in the log, and there is nothing that it could take instead. Should the leader start
        again, it lacks them, too.""",
    model=models.raft.RAFT_SNAPSHOT,
    constants={"deletes_behind_snapshot": False},
    violates=properties.raft_snapshots.catches_up_by_a_snapshot,
    states=11,
    guard="""The log is deleted up to the end of the newest snapshot, and for no other reason. A log that begins later
        than at offset 0, with no snapshot that reaches its start, is refused when a voter starts.""",
)

BUGS = [
    KAFKA_12619,
    KAFKA_10527,
    KAFKA_10661,
    KAFKA_10533,
    UNFLUSHED_LEADER,
    FORGOTTEN_VOTE,
    CANDIDATE_NOT_FLUSHED,
    WORSE_LOG,
    KAFKA_18379,
    KAFKA_12460,
    KAFKA_15489,
    KIP_996,
    KAFKA_20895,
    KAFKA_14619,
    KAFKA_14238,
]
