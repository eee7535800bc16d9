"""Bugs of KIP-268 and of what Kafka shipped of it, each with the guard that repairs it."""

from __future__ import annotations

from checker.lang import Bug
from spec.streams.models.matrix import MATRIX
from spec.streams.models.probing import LEAVING, PROBING
from spec.streams.models.tasks import TASKS, THREADS
from spec.streams.models.upgrades import BESIDE_OLD, MISSING_TOPIC, TWO_BOUNCES
from spec.streams.properties import liveness, rebalances, tasks, versions

KAFKA_6054 = Bug(
    name="kafka-6054",
    title="A leader of the old release dies of the first subscription of the new one",
    label="known: KAFKA-6054",
    found_in="Kafka Streams 0.10.0 to 1.1, and any upgrade from them without upgrade.from",
    story="""The operator forgets upgrade.from. The first process that is bounced sends its subscription in a version
        that the leader does not know. The leader dies, its session runs out, another old member leads, and dies
        of the same: no old member is left in the end. It takes a session timeout each.""",
    model=TWO_BOUNCES,
    constants={"sets_upgrade_from": False},
    violates=versions.nobody_dies_of_a_version,
    states=9,
    guard="Two bounces, the first one with upgrade.from; from version 3 on, version probing.",
)

ANSWERED_ABOVE = Bug(
    name="kafka-6054-answer",
    title="A leader of version 2 answers a subscription of version 1 in version 2",
    label="known: KAFKA-6054",
    found_in="Kafka Streams 0.10.1 to 1.1 without the back port",
    story="""The leader can read version 1, and answers everybody in its own. An old follower cannot decode what it is
        sent, and dies. To set upgrade.from is no help against such a leader.""",
    model=MATRIX,
    constants={"answers_in_lowest": False},
    violates=versions.everybody_can_read_its_assignment,
    states=9,
    guard="The leader answers all in the lowest version that it received.",
)

KAFKA_8649 = Bug(
    name="kafka-8649",
    title="Old members take over a version that they cannot send",
    label="known: KAFKA-8649",
    found_in="Kafka Streams 2.0.0 to 2.3.0, 2.1.1 and 2.2.1 among them; the document",
    story="""A leader of the new release offers its own newest version as the supported one, and an old member takes
        it for its used version. With the next rebalance it would have to encode what it does not know, and dies.""",
    model=PROBING,
    constants={"group_minimum": False, "own_bound": False},
    violates=versions.everybody_supports_what_it_uses,
    states=11,
    guard="The leader offers the newest version that all members say they support.",
)

KAFKA_8649_LOOP = Bug(
    name="kafka-8649-loop",
    title="A member rejoins for ever while one old member is left",
    label="known: KAFKA-8649",
    found_in="Kafka Streams 2.0.0 to 2.3.0",
    story="""The leader is new and one old member is left. Who sends the new version is answered in the old one, and
        told that the new one is supported: it keeps the new one, rejoins, and is answered the same. The group
        rebalances for ever, and as long as the operator waits for it to settle before the last bounce.""",
    model=PROBING,
    constants={"group_minimum": False, "rejoins_only_on_change": False},
    violates=liveness.group_settles,
    states=26,
    guard="The group's minimum; and a member rejoins only if its used version has changed.",
)

RISES_IN_SILENCE = Bug(
    name="rises-in-silence",
    title="The upgrade is over, and nobody sends the new version",
    label="shipped: Kafka Streams 2.0.0 to 2.3.0",
    found_in="Kafka Streams 2.0.0 to 2.3.0",
    story="""The last old process is bounced, and all members learn that the new version is supported. Each changes
        its used version in memory, and waits for the next rebalance to say so. None comes. The group goes on in
        the old version until somebody joins or leaves.""",
    model=PROBING,
    constants={"lower_sender_rises_at_once": False, "leader_rises_at_once": False},
    violates=liveness.upgrade_ends,
    states=25,
    guard="Whose used version rises rejoins at once.",
)

SLOW_MEMBER = Bug(
    name="slow-member",
    title="A member that is slow to sync never hears that it may rise",
    label="shipped: Kafka Streams 2.2.2 and 2.3.1 to 2.5, in theory",
    found_in="Kafka Streams 2.2.2, 2.3.1, 2.4 and 2.5",
    story="""All processes are upgraded. A member that sends the new version is answered in the old one, since another
        still sends that. It rejoins though nothing changes for it, by leaving, and so interrupts the other one
        before that has synced. Each step is fair to each member, and the loop has no end.""",
    model=LEAVING,
    constants={"rejoins_only_on_change": False},
    violates=liveness.group_settles,
    states=60,
    guard="A member rejoins only if its used version has changed.",
)

KAFKA_10455 = Bug(
    name="kafka-10455",
    title="A follower rejoins, and no rebalance comes",
    label="known: KAFKA-10455",
    found_in="Kafka Streams 2.6.0",
    story="""A follower wants a rebalance and sends its JoinGroup with its member id. Its subscription has the same
        bytes as before: the coordinator answers with the generation that there is, and nobody else hears of it.""",
    model=PROBING,
    constants={"rejoins_only_on_change": False, "unique_field": False},
    violates=rebalances.a_wish_causes_a_rebalance,
    states=21,
    guard="A field that differs each time, from version 8 on.",
)

KAFKA_8972 = Bug(
    name="kafka-8972",
    title="A member that is about to rejoin goes on with tasks that are another's",
    label="draft only; akin to KAFKA-8972",
    found_in="KIP-268 as written; the bookkeeping of Kafka Streams 2.0 to 2.3",
    story="""A member is answered in a lower version, and is about to rejoin. It looks at the version only, and its
        bookkeeping still has the tasks of before. The leader has given these to another member.""",
    model=TASKS,
    constants={"probe_is_taken": False},
    violates=tasks.each_task_has_one_owner,
    states=17,
    guard="Whoever rejoins takes its assignment first, as ever.",
)

PROBE_WITHOUT_OWNERS = Bug(
    name="probe-without-owners",
    title="In a probe, the tasks of the process that was bounced belong to nobody",
    label="shipped: Kafka Streams 2.0.0 to 2.3.0",
    found_in="Kafka Streams 2.0.0 to 2.3.0",
    story="""A leader that is sent a version that it does not know gives everybody else what it had, and the sender
        nothing. The tasks of the process that was bounced are nobody's until the next generation.""",
    model=TASKS,
    constants={"probe_moves_tasks": False},
    violates=tasks.each_task_is_assigned_in_a_probe,
    states=8,
    guard="The leader assigns as ever; who probes gets its share in a version that it can read.",
)

LISTED_ELSEWHERE = Bug(
    name="probe-lists-otherwise",
    title="In a probe, processes are listed with partitions that they have not",
    label="shipped: Kafka Streams 2.0.0 to 2.3.1",
    found_in="Kafka Streams 2.0.0 to 2.3.1",
    story="""A leader that is sent a version that it does not know assigns all tasks to those that it knows, and lists
        them so in the GlobalAssignment. Then it gives everybody what it had. Interactive queries for the partitions of
        the process that was bounced go to one that has never had them.""",
    model=TASKS,
    constants={"probe_moves_tasks": False, "future_gets_tasks": False, "lists_what_is_given": False},
    violates=tasks.who_is_listed_has_it,
    states=8,
    guard="What is listed is what is sent.",
)

THREADS_SHARE = Bug(
    name="probe-gives-twice",
    title="In a probe, two threads of a process are given the same tasks",
    label="shipped: Kafka Streams 2.0.0 to 2.1.1, and before 2.3.1",
    found_in="Kafka Streams 2.0.1 and 2.1.1",
    story="""A leader that is sent a version that it does not know gives everybody what it had. It remembers that of
        processes only: each thread is given what all threads of its process had.""",
    model=THREADS,
    constants={"probe_moves_tasks": False, "thread_keeps_its_own": False},
    violates=tasks.each_task_is_assigned_once,
    states=10,
    guard="The leader remembers what each thread had (2.3.1), or assigns as ever (2.4).",
)

FUTURE_BESIDE_OLD = Bug(
    name="future-beside-old",
    title="The leader dies of a new version beside version 2",
    label="shipped: Kafka Streams 2.0 to 2.6; an error for all from 2.7 on",
    found_in="Kafka Streams 2.0 to 2.6",
    story="""A second upgrade begins before upgrade.from has been removed from all processes. The leader is sent a
        version that it does not know beside one of version 2, whose senders cannot probe: it gives up.""",
    model=BESIDE_OLD,
    constants={"mixed_is_survived": False},
    violates=versions.nobody_dies_of_a_version,
    states=15,
    guard="Who sends the new version gets an empty assignment until the others no longer send version 2.",
)

UNREADABLE_ERROR = Bug(
    name="unreadable-error",
    title="An error assignment that its receivers cannot read",
    label="shipped: Kafka Streams 2.1.0 to 3.9, in theory",
    found_in="Kafka Streams 2.1.0 to 3.9",
    story="""A source topic is missing while the group is upgraded and its leader is new. The leader tells all members
        so, in its own newest version. Old members cannot decode it: they die of the version, and the log names
        the wrong cause.""",
    model=MISSING_TOPIC,
    constants={"error_in_readable_version": False},
    violates=versions.everybody_can_read_its_assignment,
    states=9,
    guard="Error assignments, too, are in the lowest version received.",
)

REMOVED_TOO_EARLY = Bug(
    name="upgrade-from-removed-early",
    title="upgrade.from is removed from a process while an old one leads",
    label="known: a mistake of the operator",
    found_in="Every release that has upgrade.from",
    story="""The second bounce of one process comes before the first bounce of another. It sends version 3 to a leader
        that knows version 2.""",
    model=TWO_BOUNCES,
    constants={"rolls_in_turn": False, "first_roll_ends": False},
    violates=versions.nobody_dies_of_a_version,
    states=22,
    guard="No process has its second bounce before every process has had its first.",
)

BUGS = [
    KAFKA_6054,
    ANSWERED_ABOVE,
    REMOVED_TOO_EARLY,
    KAFKA_8649,
    KAFKA_8649_LOOP,
    RISES_IN_SILENCE,
    SLOW_MEMBER,
    KAFKA_10455,
    KAFKA_8972,
    PROBE_WITHOUT_OWNERS,
    LISTED_ELSEWHERE,
    THREADS_SHARE,
    FUTURE_BESIDE_OLD,
    UNREADABLE_ERROR,
]
