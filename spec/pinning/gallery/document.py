"""Holes of the document, and of the alternatives to it."""

from __future__ import annotations

from checker.lang import Bug
from spec.pinning import models, properties

LIVE, LIVE_CRASH = models.liveness.LIVE, models.liveness.LIVE_CRASH

THREE_ABSTAINERS = Bug(
    name="three-abstainers",
    title="Three live brokers abstain for each other, and nobody is the controller ever again",
    label="draft only",
    found_in="KIP-39, Changes in the election code",
    story="""An operator asks for broker 1. It is ready, and the controller resigns. Before anybody has run, another
        request replaces that one: the operator now asks for broker 0. Broker 0 has pulled `ready` already, and saw
        broker 1 there; it is about to abstain when it hears of the new request, and of the `ready` that it sets
        itself. That event comes too early: broker 0 is not abstaining yet, so nothing follows from it. Then all three
        decide by what they have pulled: broker 0 abstains for broker 1, the two others for broker 0. No znode changes
        any more, so no watch fires.""",
    model=LIVE,
    constants={"pulls_again": False, "abstention_lapses": False, "max_hangs": 0},
    violates=properties.liveness.there_is_a_controller,
    states=15,
    guard="""A broker that hears of `ready` between pulling it and deciding pulls it again; and an abstention ends
        after a time in any case.""",
)

HUNG_TARGET = Bug(
    name="hung-target",
    title="The target hangs while its session lives, and everybody abstains for as long as it does",
    label="draft only",
    found_in="KIP-39, Possible gotchas",
    story="""The document claims that there is never a time without a controller while brokers are up, for `ready` is
        ephemeral. But a broker that hangs keeps its session: a deadlock in the controller's thread, a full disk, or a
        disk that does not answer do not stop the thread that sends ZooKeeper its pings. The target sets `ready`, the
        controller resigns, the target hangs. All others have seen `ready`, and abstain.""",
    model=LIVE,
    constants={"abstention_lapses": False},
    violates=properties.liveness.there_is_a_controller,
    states=10,
    guard="A broker that has abstained for a time runs all the same; its election ends the request that it waited for.",
)

REQUEST_STANDS = Bug(
    name="request-stands",
    title="A request that was served stands for ever: each return of its target moves the office",
    label="draft only",
    found_in="KIP-39, Proposed Change (b)",
    story="""`/admin/next_controller` is persistent, and nobody deletes it. Its target was the controller, and is
        restarted: another takes office, as it should. Then the target comes back, reads `next` as the document has
        it, sets `ready`, and a controller that was healthy resigns. Each bounce of the target costs two moves. The
        motivation of the document is to have fewer of them in a rolling restart.""",
    model=models.alternatives.ROLLING,
    constants={"request_consumed": False},
    violates=properties.moves.no_move_without_cause,
    states=15,
    guard="The multi that creates `/controller` for the target deletes its request, and its `ready`.",
)

RESIGNS_FOR_ITSELF = Bug(
    name="resigns-for-nobody",
    title="A controller resigns when `ready` goes",
    label="draft only",
    found_in="KIP-39, Handling the admin request (f)",
    story="""'When controller receives the watch it will resign': a watch fires when `ready` goes, too. The target
        dies while the controller has yet to handle that it was ready; by the time it does, there is nobody to resign
        for. It resigns all the same. The same happens where `ready` names the controller itself.""",
    model=models.requests.PIN,
    constants={"resigns_for_other": False},
    violates=properties.moves.no_move_without_cause,
    states=6,
    guard="The controller reads `ready`, and resigns only where it names another broker.",
)

REQUEST_CHECKED = Bug(
    name="replaced-request",
    title="A controller resigns for the target of a request that was replaced",
    label="draft only",
    found_in="KIP-39, Handling the admin request (f)",
    story="""An operator asks for broker 1, and then for another. The controller handles that broker 1 is ready, and
        resigns for a request that stands no more.""",
    model=models.requests.REPIN,
    constants={"request_checked": False},
    violates=properties.moves.no_move_without_cause,
    states=5,
    guard="""`ready` says of which request it is, by the zxid of the write that made it; the controller reads `next`,
        too, and the multi that resigns checks the versions of both.""",
)

FORMER_READY = Bug(
    name="former-ready",
    title="`ready` of a former target that hangs keeps the next one out",
    label="repaired design; no report",
    found_in="the first repair of KIP-39's single `ready`: a target that was replaced deletes its own",
    story="""There is one znode for whoever is ready, and two requests in turn. The former target hangs before it has
        taken its `ready` back. The target of the newer request finds the znode there, is refused, and waits for its
        end, which does not come. The office goes to a third broker, and the request is never served.""",
    model=LIVE,
    constants={"former_ready_removed": False},
    violates=properties.liveness.target_takes_office,
    states=13,
    guard="A target removes the `ready` of a former request, whoever owns it, by the multi that creates its own.",
)

REMOVED_LATE = Bug(
    name="removed-late",
    title="A former target deletes the `ready` of the next one, whose version is the same",
    label="repaired design; no report",
    found_in="two repairs of KIP-39's single `ready`: a former target deletes its own, and the next one removes it",
    story="""An operator asks for broker 2, and then for another. Broker 2 hears of that, and reads its own `ready`,
        version 0, to take it back. Before it does, the new target replaces that znode by its own, which was just
        created and so has version 0 as well. The deletion of broker 2 checks the version, and passes: the `ready` that
        is gone is the new target's. The new target was ready once and does not look again. The controller hears that
        `ready` has changed, finds none, and stays. A check of a version cannot tell two znodes of one path.""",
    model=models.liveness.LIVE_LATE,
    constants={"ready_told_apart": False},
    violates=properties.liveness.target_takes_office,
    states=7,
    guard="""Whoever creates `ready` also writes `/admin` by the same multi; and who takes its own back checks the
        version of `/admin`, read before `ready`, and that of the request, too.""",
)

UNPIN_DELETES = Bug(
    name="unpin-deletes",
    title="A target takes the office over by a request that was taken back, and spends that of another",
    label="repaired design; no report",
    found_in="taking a request back by deleting `/admin/next_controller` (the document has no way back), with takeover",
    story="""The target has read the version of its request, 0, and the epoch, and is about to take the office over. An
        operator takes that request back, which deletes the znode, and asks for another broker. The znode is created
        again and has version 0 again; nobody was elected meanwhile, so the epoch is the same. The multi of the first
        target passes all of its checks: it takes the office from a healthy controller, and deletes the request for the
        other broker. Elections may delete the znode since they raise the epoch in the same multi.""",
    model=models.alternatives.TAKEOVER,
    constants={"unpin_keeps_version": False},
    violates=properties.moves.no_move_without_cause,
    states=6,
    guard="A request is taken back by setting the data of the znode to nobody, which raises its version.",
)

SETTLED_REQUEST = Bug(
    name="settled-request",
    title="A target takes the office over by a request that was settled, and spends that of another",
    label="repaired design; no report",
    found_in="takeover by one multi: a request for the one in office is deleted under the same epoch",
    story="""The target has read the version of its request, 0, and that of the epoch, and is about to take the office
        over. An operator asks for the controller itself instead, which is served at once: the controller deletes the
        znode. The next request creates it again, for a third broker, with version 0; nobody was elected meanwhile. The
        multi of the first target passes all of its checks, and deletes the request for the third broker.""",
    model=models.alternatives.TAKEOVER,
    constants={"settling_renews_epoch": False},
    violates=properties.moves.no_move_without_cause,
    states=7,
    guard="""The multi that settles a request writes the epoch again, unchanged: its version rises, and whoever has read
        that has to read again.""",
)

OVERWRITTEN_READY = Bug(
    name="overwritten-ready",
    title="`ready` names one broker and lives as long as the session of another",
    label="draft only",
    found_in="KIP-39, Handling the admin request (e): 'set the admin/ready_to_serve ephemeral node'",
    story="""The second target finds `ready` of the first, and sets its data. The owner of an ephemeral znode is the
        session that created it: if the first target goes, the second one's `ready` goes with it; if the second dies,
        its `ready` stays, and the others abstain for a dead broker.""",
    model=models.requests.REPIN,
    constants={"ready_owned_by_target": False, "former_ready_removed": False},
    violates=properties.requests.ready_names_its_owner,
    states=5,
    guard="A target never sets the data of a znode that it has not created.",
)

READY_STAYS = Bug(
    name="ready-stays",
    title="A target that was replaced stays ready for ever",
    label="draft only",
    found_in="KIP-39, Handling the admin request (the document is silent)",
    story="""A request is given up, or another takes its place, and its target lives on. Its `ready` stays for as long
        as its session does: at every election from then on the others abstain for a broker that nobody asks for.""",
    model=LIVE,
    constants={"one_ready_each": False},
    violates=properties.liveness.ready_is_taken_back,
    states=14,
    guard="A broker that hears that no request asks for it deletes its own `ready`.",
)

OWN_FORMER_READY = Bug(
    name="former-session-ready",
    title="The target's `ready` of its own former session is in its way, and goes later",
    label="draft only; akin to KAFKA-1387 and KAFKA-7165",
    found_in="KIP-39, Changes in the broker startup code",
    story="""The target is ready, and restarts. It finds its own `ready` there, of the session that has not ended yet,
        and its create is refused. Then ZooKeeper ends that session, and the znode goes. The target was refused once,
        does not look again, and is never ready.""",
    model=LIVE_CRASH,
    constants={"ready_renewed": False},
    violates=properties.liveness.target_takes_office,
    states=13,
    guard="A target that was refused watches `ready`, and creates its own when the other goes.",
)

OFFICE_READS_READY = Bug(
    name="elected-unaware",
    title="A broker is elected while another is ready, and never looks",
    label="draft only",
    found_in="KIP-39, Changes in the election code",
    story="""A broker pulls `ready`, finds none, and is elected; meanwhile the target became ready. The document has
        the controller hear of `next` and watch `ready` from then on; but `next` was written before this one took
        office, and does not change again. Only the watch of its own pull could save the request.""",
    model=LIVE,
    constants={"office_reads_ready": False},
    violates=properties.liveness.unaware_winner_hands_over,
    states=5,
    guard="Who takes office reads `next` and `ready`, with watches.",
)

WATCH_WHERE_ABSENT = Bug(
    name="get-arms-nothing",
    title="A watch on a znode that is not there yet was never set",
    label="draft only",
    found_in="KIP-39, Handling the admin request (c), (d)",
    story="""The controller is to watch `ready` before the target has created it. `getData` and `getChildren` on an
        absent znode set no watch; `exists` does. With the calls that the document names, the controller never hears
        that the target is ready.""",
    model=LIVE,
    constants={"watch_where_absent": False},
    violates=properties.liveness.unaware_winner_hands_over,
    states=4,
    guard="Absent znodes are watched with `exists`.",
)

OFFICE_FAILURE = Bug(
    name="failing-target",
    title="A target that cannot serve is elected again and again, while all others abstain",
    label="draft only",
    found_in="KIP-39, Changes in the election code (c)",
    story="""The target is elected, and fails on taking office: it cannot read the topics, say. It resigns. Its
        request stands, its `ready` stands, so everybody else abstains, and it runs again. There is no end to it.""",
    model=models.liveness.LIVE_REFUSED,
    constants={"office_failure_spends": False},
    violates=properties.liveness.there_is_a_controller,
    states=15,
    guard="A request is spent by the election of its target, whatever follows.",
)

LEGACY_WINNER = Bug(
    name="legacy-winner",
    title="A broker that is yet to be upgraded is elected, and never resigns",
    label="draft only",
    found_in="KIP-39, Migration Plan, Compatibility and Deprecation",
    story="""The document calls a rollout broker by broker harmless: new brokers 'might not participate'. Old ones
        always do. They know nothing of `ready`: one of them wins while the target is ready, and stays in office until
        it is restarted. The others abstained, so it had no rival.""",
    model=LIVE,
    constants={"legacy_brokers": 1},
    violates=properties.liveness.unaware_winner_hands_over,
    states=8,
    guard="None: make no request before every broker is upgraded.",
)

PREFERRED_HANGS = Bug(
    name="preferred-hangs",
    title="Brokers outside the preferred set wait for a preferred one that hangs",
    label="shipped, in a public fork; no report known",
    found_in="preferred controllers in a fork of Apache Kafka 2.x and 3.0, with fallback",
    story="""With fallback, brokers outside the set run while no preferred broker is registered. One that hangs is
        registered for as long as its session lives. The other one dies, and nobody runs. A set of preferred
        controllers has the fault for which KIP-39 rejects whitelists, if less often.""",
    model=models.alternatives.PREFERRED,
    constants={"abstention_lapses": False},
    violates=properties.liveness.there_is_a_controller,
    states=7,
    guard="A broker that has abstained for a time runs all the same.",
)

NO_FALLBACK = Bug(
    name="no-fallback",
    title="Without fallback there is no controller while no preferred broker runs",
    label="shipped, in a public fork; by design",
    found_in="preferred controllers in a fork of Apache Kafka 2.x and 3.0, without fallback",
    story="""Of the preferred brokers one dies, the other hangs or dies, too. The others are outside the set, and never
        become the controller. KIP-39 rejects whitelists for this reason.""",
    model=models.alternatives.PREFERRED,
    constants={"fallback": False},
    violates=properties.liveness.there_is_a_controller,
    states=7,
    guard="Fallback: others run while no preferred broker is registered.",
)

HOPE = Bug(
    name="hope",
    title="An operator deletes /controller, and another broker than the wanted one is elected",
    label="shipped",
    found_in="Apache Kafka up to 3.9 in ZooKeeper mode",
    story="""Apache Kafka has no request to move the controller. Operators delete `/controller` until the broker is
        elected that they want. Each time, whoever is first wins, and each time the cluster is without a controller
        for a while.""",
    model=models.liveness.LIVE_REFUSED,
    constants={"pinning": False},
    violates=properties.liveness.target_takes_office,
    states=5,
    guard="Pinning.",
)

BUGS = [
    THREE_ABSTAINERS, HUNG_TARGET, REQUEST_STANDS, RESIGNS_FOR_ITSELF, REQUEST_CHECKED, FORMER_READY, REMOVED_LATE,
    UNPIN_DELETES, SETTLED_REQUEST, OVERWRITTEN_READY, READY_STAYS, OWN_FORMER_READY, OFFICE_READS_READY,
    WATCH_WHERE_ABSENT, OFFICE_FAILURE, LEGACY_WINNER, PREFERRED_HANGS, NO_FALLBACK, HOPE,
]  # fmt: skip
