"""Faults of impl/group, and for each a small model in which conformance finds it."""

from __future__ import annotations

from tests.conform.faults.kraft_faults import Fault

MODELS: dict[str, tuple[str, dict[str, object], str]] = {
    "join": ("join", {}, "repaired"),
    "draft": ("join", {}, "draft"),
    "late": ("late", {"max_time_outs": 2}, "repaired"),
    "late draft": ("late", {"max_time_outs": 2}, "draft"),
    "crash": ("crash", {}, "repaired"),
    "death": ("death", {"max_early_suspicions": 0}, "repaired"),
    "failover": ("failover", {"consumers": 1}, "repaired"),
    "failover of two": ("failover", {}, "repaired"),
    "former": ("former", {"consumers": 1}, "repaired"),
    "offsets": ("offsets", {"brokers": 1, "max_expiries": 0}, "repaired"),
    "pings": ("pings", {"records": 1}, "repaired"),
    "pings draft": ("pings", {"records": 1}, "draft"),
    "shutdown": ("shutdown", {"consumers": 1, "records": 1}, "repaired"),
    "topics": ("topics", {"max_expiries": 0}, "repaired"),
    "topics in time": ("topics", {"new_partitions": 1}, "repaired"),
    "topics draft": ("topics", {"new_partitions": 1}, "draft"),
    "three": ("three", {"max_crashes": 0}, "repaired"),
    "two groups": ("two_groups", {}, "repaired"),
    "barrier": ("barrier", {"max_expiries": 0}, "shipped"),
    "section 2": ("section2", {"max_expiries": 0}, "repaired"),
    "section 2 failover": ("section2", {"consumers": 1}, "repaired"),
    "section 2 failover as written": ("section2", {"consumers": 1, "max_crashes": 0}, "section2"),
    "section 2 as written": ("section2", {"max_crashes": 0, "max_expiries": 0}, "section2"),
}
"""By name: a model of the spec, what is set in it, and the setting."""

FAULTS = [
    # Messages.
    Fault("late", "attempts are lost on the wire", "protocol.request_bytes", "message.attempt", "0"),
    Fault("join", "epochs are lost on the wire", "protocol.request_bytes", "message.coordinator_epoch", "0"),
    Fault("pings", "a ping says another count", "protocol._body", "int32(message.uncommitted)", "int32(0)"),
    Fault("offsets", "offsets lose their high bytes", "protocol._position_bytes", "int64(position.offset)", "int64(0)"),
    # Assignments.
    Fault(
        "join",
        "partitions go to the last thread",
        "ranges",
        "sorted(threads.get(topic, ()))",
        "sorted(threads.get(topic, ()))[-1:]",
    ),
    Fault("three", "the last threads get one more", "ranges", "number < extra", "number >= len(takers) - extra"),
    Fault("three", "every consumer has one thread", "Group.threads", "range(count)", "range(1)"),
    Fault("topics", "a new topic is nobody's", "Group.topics", "found |= subscription.of(known)"),
    # Registrations.
    Fault(
        "crash",
        "an id that is in use is accepted",
        "registration.judge",
        "group is not None and request.consumer in group.members",
        "False",
    ),
    Fault(
        "join",
        "nobody asks for a rebalance",
        "Coordinator._add_member",
        "self.rebalances.ask(group, 'a consumer has joined')",
    ),
    Fault(
        "join",
        "a registration is not answered",
        "Coordinator._add_member",
        "self.context.effects.append(Send(connection, answer))",
    ),
    # Rebalances.
    Fault("draft", "a bit that is set is not looked at", "Rebalances.ask", "if group.bit:\n    return"),
    Fault("join", "the bit is not cleared", "Rebalances._take", "group.bit = False"),
    Fault("draft", "the bit is not cleared at the end", "Rebalances.go_on", "group.bit = False"),
    Fault(
        "join",
        "nobody is asked to stop",
        "Rebalances._stop_all",
        "self._send(member, StopFetcherRequest(member.consumer, self.epoch, rebalance.attempt))",
    ),
    Fault("join", "who is started is not known", "Rebalances.answered", "group.started.add(member.consumer)"),
    Fault(
        "late",
        "a late response clears a watcher",
        "Rebalances.answered",
        "self.design.attempt_ids and attempt != rebalance.attempt",
        "False",
    ),
    Fault("join", "it waits for the first only", "Rebalances.answered", "if rebalance.waits_for:\n    return"),
    Fault(
        "join",
        "owners are written after all",
        "Rebalances.go_on",
        "was_committing and self.design.owners_first",
        "False",
    ),
    Fault(
        "topics",
        "a rebalance that is needless is done",
        "Rebalances._is_done",
        "owners == assignment and (are_started or not self.design.starts_registered)",
        "False",
    ),
    Fault(
        "crash",
        "owners as computed are enough",
        "Rebalances._is_done",
        "are_started or not self.design.starts_registered",
        "True",
    ),
    Fault("draft", "owners are not compared", "Rebalances._is_done", "owners == assignment", "True"),
    Fault(
        "late", "it is not tried again", "Rebalances._try_again", "rebalance.retries < self.limits.max_retries", "False"
    ),
    Fault(
        "late", "it is tried for ever", "Rebalances._try_again", "rebalance.retries < self.limits.max_retries", "True"
    ),
    Fault("late", "nobody knows that it was given up", "Rebalances._try_again", "group.gave_up = True"),
    Fault(
        "late",
        "the back-off never ends",
        "Rebalances.back_off_is_over",
        "group.phase is Phase.BACKOFF and group not in self.again",
        "False",
    ),
    Fault("late", "retries are forgotten", "Rebalances._stop_all", "0 if before is None else before.retries", "0"),
    Fault(
        "late draft", "only the owner of the attempt counts", "Rebalances.answered", "self.design.attempt_ids", "True"
    ),
    Fault(
        "barrier",
        "a barrier waits for all",
        "Rebalances.time_out",
        "rebalance.phase is Phase.STOPPING and self.design.join_barrier",
        "False",
    ),
    Fault(
        "barrier",
        "who is late keeps its share",
        "Rebalances._go_on_without",
        "rebalance.assignment = ranges(partitions, group.threads(list(partitions)))",
    ),
    Fault(
        "two groups",
        "one thread rebalances two groups",
        "Rebalances.next",
        "len(self._busy) >= self.limits.rebalance_threads",
        "False",
    ),
    Fault("crash", "a death does not fail the rebalance", "Coordinator.bury", "self.rebalances.fail(group)"),
    Fault(
        "crash", "a death asks for no rebalance", "Coordinator.bury", "self.rebalances.ask(group, 'a consumer is gone')"
    ),
    Fault(
        "death",
        "who is dead keeps its connection",
        "Coordinator._remove",
        "self.context.effects.append(Close(member.connection))",
    ),
    # Owners and offsets.
    Fault("join", "owners are not written", "Store.write_owners", "yield from self._write(group, writes, rebalance)"),
    Fault(
        "crash", "an owner that changes is not written", "Store.write_owners", "group.owners[of] != owners[of]", "False"
    ),
    Fault("offsets", "offsets are not committed", "Store.commit", "yield from self._write(group, writes)"),
    Fault(
        "offsets",
        "a partition starts from its beginning",
        "Rebalances._start",
        "member.start_offset if offset is None else offset",
        "0",
    ),
    Fault(
        "failover",
        "writes are not fenced",
        "Store._write",
        "fenced(self.office, *part, seat=SEAT) if self.design.fenced_writes else Multi(tuple(part))",
        "Multi(tuple(part))",
    ),
    # Coordinators.
    Fault(
        "failover", "a refused write changes nothing", "Coordinator._step_down", "self._end_term('a write was refused')"
    ),
    Fault("failover", "a new session changes nothing", "Coordinator._carry_out", "self._end_term(cause.value)"),
    Fault(
        "failover",
        "a new coordinator starts at once",
        "Coordinator._begin_term",
        "self.waits_out = self.design.waits_out_sessions",
    ),
    Fault("failover", "it rebalances before the sessions are over", "Coordinator.can_rebalance", "not self.waits_out"),
    Fault("failover", "a former coordinator forgets nobody", "Coordinator._forget", "self.groups.clear()"),
    Fault(
        "failover",
        "connections outlive a coordinator",
        "Coordinator._end_term",
        "self.context.effects.append(CloseAll())",
    ),
    Fault("topics", "new topics are not heard of", "Coordinator._watch_fired", "self._add(Work.HEAR_TOPICS)"),
    Fault(
        "topics",
        "new partitions are not heard of",
        "Coordinator._watch_fired",
        "self._add(Work.HEAR_PARTITIONS, path.split('/')[3])",
    ),
    Fault(
        "topics",
        "a new topic rebalances nobody",
        "Hearing.hear_topics",
        "self._rebalance_interested(new, 'a topic is new')",
    ),
    Fault(
        "topics",
        "a new topic is not watched",
        "Hearing.hear_topics",
        "yield from self.topics.partitions(found, watch=True)",
    ),
    Fault(
        "topics draft",
        "what comes between is seen after all",
        "Hearing.read_topics",
        "self.design.watch_then_read",
        "True",
    ),
    Fault(
        "topics in time",
        "topics are known at once",
        "Coordinator._begin_term",
        "not self.design.watch_then_read",
        "True",
    ),
    # Pings.
    Fault(
        "pings",
        "an answer is not counted",
        "Pings.answered",
        "member.unanswered_ms.popleft()",
        "member.unanswered_ms[0]",
    ),
    Fault("pings", "failures are summed up", "Pings.answered", "member.failed = 0"),
    Fault("pings", "failures in a row are not ended", "Pings.answered", "member.in_a_row = 0"),
    Fault(
        "pings draft",
        "a consumer has one ping more",
        "Pings.fail",
        "member.failed <= self.max_failed",
        "member.failed <= self.max_failed + 1",
    ),
    Fault(
        "pings",
        "offsets of pings are not recorded",
        "Coordinator._take_response",
        "self.store.report(group, response.offsets)",
    ),
    Fault(
        "shutdown",
        "everything is committed",
        "Store.has_uncommitted_of",
        "any(of in group.uncommitted for of in group.owned.get(member.consumer, ()))",
        "False",
    ),
    Fault("shutdown", "pings under way do not count", "Pings.send", "uncommitted = sent", "uncommitted = 0"),
    # Consumers.
    Fault(
        "join",
        "a refusal is taken for an answer",
        "Consumer.on_registered",
        "response.error_code == ErrorCode.NONE and not is_former",
        "False",
    ),
    Fault(
        "former",
        "a former coordinator is obeyed",
        "Consumer.on_registered",
        "self.design.coordinator_epoch and epoch < self.coordinator_epoch",
        "False",
    ),
    Fault(
        "crash",
        "who is refused goes on",
        "Consumer.on_registered",
        "response.error_code == ErrorCode.NONE and not is_former",
        "not is_former",
    ),
    Fault("join", "a stop leaves the fetchers", "Consumer._take_stop", "self._fetch({})"),
    Fault("offsets", "a stop is answered without offsets", "Consumer._take_stop", "offsets", "()"),
    Fault("death", "a suspicion leaves the fetchers", "Consumer._start_anew", "self._fetch({})"),
    Fault(
        "pings",
        "out of range changes nothing",
        "Consumer._take_ping",
        "self.state is State.JOINED and self._out_of_range & self.fetched.keys()",
        "False",
    ),
    Fault("pings", "a ping is answered without offsets", "Consumer._take_ping", "self._offsets()", "()"),
    Fault(
        "shutdown",
        "who shuts down leaves at once",
        "Consumer._take_ping",
        "self.answered > uncommitted or not settings.auto_commit",
        "True",
    ),
    Fault(
        "shutdown",
        "who shuts down stays",
        "Consumer._take_ping",
        "self.answered > uncommitted or not settings.auto_commit",
        "False",
    ),
    # Section 2.
    Fault(
        "section 2",
        "a member is not stored",
        "SocketCoordinator._before_registering",
        "() if is_refused or request.consumer in group.members else (Create(path, value), SetData(path, value))",
        "()",
    ),
    Fault(
        "section 2", "a dead member stays stored", "SocketCoordinator._remove", "self.scripts.begin(self._delete(path))"
    ),
    Fault(
        "section 2 failover",
        "a former coordinator forgets members",
        "SocketCoordinator._delete",
        "fenced(self.store.office, Delete(path), seat=SEAT)",
        "Delete(path)",
    ),
    Fault(
        "section 2 failover",
        "stored members are not known",
        "SocketCoordinator._know_member",
        "group.members[consumer] = new_member(UNKNOWN, request, judged.subscription, self.context.now_ms)",
    ),
    Fault(
        "section 2 failover as written",
        "nobody waits for stored members",
        "SocketCoordinator._know_member",
        "self.rebalances.ask(group, 'a new coordinator')",
    ),
    Fault("section 2", "connections stay open", "SocketRebalances.begin", "self.disconnect(member)"),
    Fault(
        "section 2",
        "who waits for an answer is closed, too",
        "SocketRebalances.begin",
        "name in group.started or not self.is_connected(member)",
        "True",
    ),
    Fault(
        "section 2",
        "who was closed is not awaited",
        "SocketRebalances.begin",
        "name in group.started or not self.is_connected(member)",
        "name in group.started",
    ),
    Fault(
        "section 2",
        "it is complete before all are back",
        "SocketRebalances._complete_if_all_are_back",
        "not rebalance.waits_for",
        "True",
    ),
    Fault(
        "section 2",
        "who is back is awaited on",
        "SocketRebalances.is_back",
        "group.rebalance.waits_for.remove(consumer)",
    ),
    Fault("section 2", "an id that is awaited is in use", "registration.judge", "not is_back", "True"),
    Fault("section 2", "answers bring nothing", "SocketRebalances._answer_all", "shares.get(name, {})", "{}"),
    Fault(
        "section 2",
        "answers come before the owners",
        "SocketRebalances._complete",
        "not self.design.owners_first",
        "True",
    ),
    Fault("section 2", "nobody counts as answered", "SocketRebalances._answer_all", "set(rebalance.answers)", "set()"),
    Fault(
        "section 2",
        "owners are not written under section 2",
        "SocketRebalances._write",
        "yield from self.store.write_owners(group, rebalance)",
        "yield from ()",
    ),
    Fault(
        "section 2 as written",
        "nobody is answered",
        "SocketRebalances._complete",
        "not self.design.owners_first",
        "False",
    ),
    Fault("section 2 as written", "the bit stays set", "SocketRebalances._write", "group.bit = False"),
    Fault(
        "section 2",
        "partitions of an answer are lost on the wire",
        "protocol.register_response_bytes",
        "response.threads is not None",
        "False",
    ),
    Fault(
        "section 2",
        "partitions of an answer are passed over",
        "Consumer.on_registered",
        "response.threads is not None",
        "False",
    ),
]
