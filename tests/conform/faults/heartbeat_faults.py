"""Faults of impl/heartbeat, and for each a small model in which conformance finds it."""

from __future__ import annotations

from tests.conform.faults.kraft_faults import Fault

MODELS: dict[str, tuple[str, dict[str, object], str]] = {
    "steady": ("leases", {"max_silences": 0}, "repaired"),
    "silence": ("leases", {"records": 0}, "repaired"),
    "draft": ("leases", {"records": 0}, "draft"),
    "late copy": ("late", {"records": 0, "max_crashes": 0}, "repaired"),
    "shipped": ("late", {"records": 0, "max_late_copies": 0}, "shipped"),
    "session": ("mixed", {"records": 0, "max_silences": 0, "max_crashes": 0}, "repaired"),
    "failover": ("failover", {"records": 0, "max_expiries": 0}, "repaired"),
    "stopping": ("stopping", {"records": 0, "max_failovers": 0}, "repaired"),
    "view": ("sessions", {"records": 0}, "repaired"),
    "legacy": ("legacy", {"records": 0, "max_silences": 0, "max_crashes": 0}, "repaired"),
    "upgrade": ("upgrade", {}, "repaired"),
}
"""By name: a model of the spec, what is set in it, and the setting."""

FAULTS = [
    # Heartbeats.
    Fault("steady", "a heartbeat names no target", "Broker._send_heartbeat", "self.target", "BrokerState.STOPPING"),
    Fault("steady", "an answer names another incarnation", "Heartbeats._reply", "request.incarnation_id", "0"),
    Fault("failover", "an answer names another epoch", "Heartbeats._reply", "office.epoch", "1"),
    Fault(
        "silence",
        "nobody is owed anything",
        "Known.is_owed",
        "self.is_new or bool(self.to_take) or any(self.sent.values())",
        "False",
    ),
    Fault(
        "silence",
        "an inactive broker is answered ACTIVE",
        "Heartbeats._reached",
        "not known.is_counted and self.design.fresh_unfence and known.is_owed",
        "False",
    ),
    Fault(
        "session",
        "any registration will do",
        "Heartbeats._judge",
        "registered is None or registered.czxid != request.incarnation_id",
        "False",
    ),
    Fault(
        "session",
        "a lower incarnation is taken",
        "Broker._take_reply",
        "(response.broker_id, response.incarnation_id) != mine",
        "False",
    ),
    Fault(
        "stopping",
        "who stops is answered ACTIVE",
        "Heartbeats._reached",
        "target == BrokerState.STOPPING and self.design.exit_signal",
        "False",
    ),
    Fault(
        "stopping",
        "who leads something may exit",
        "Heartbeats._reached",
        "known.is_counted and bool(self.partitions.led_by(broker))",
        "False",
    ),
    Fault(
        "stopping",
        "the leave to exit is not taken",
        "Broker._take_reply",
        "self.is_stopping and response.current_state == BrokerState.INACTIVE and self.design.exit_signal",
        "False",
    ),
    Fault("stopping", "who stops says so to nobody", "Broker.stop", "self.target = BrokerState.STOPPING"),
    # Fence and leases.
    Fault(
        "silence",
        "a timeout does not fence",
        "Fence.check",
        "not self.is_fenced and self.end_ms <= self.context.now_ms",
        "False",
    ),
    Fault("silence", "an answer does not unfence", "Fence.answered", "self.is_fenced = False"),
    Fault("silence", "INACTIVE does not fence", "Fence.answered", "state < BrokerState.ACTIVE", "False"),
    Fault(
        "silence",
        "a lease that is over changes nothing",
        "Controller._expire",
        "self._set_state(broker, BrokerState.INACTIVE, cause='lease over')",
    ),
    Fault("session", "a new session is not registered", "Broker.on_event", "self.scripts.add(Work.REGISTER)"),
    # Registrations.
    Fault(
        "session",
        "a new registration is not gone by",
        "Controller._see",
        "known is not None and known.incarnation >= registered.czxid",
        "known is not None",
    ),
    Fault(
        "session",
        "the new incarnation is owed nothing",
        "Known.begin_anew",
        "(incarnation, None, True, True)",
        "(incarnation, None, False, True)",
    ),
    Fault(
        "shipped",
        "a znode that is gone says nothing",
        "Controller._see",
        "lives_by_znode or not self.design.supersedes_after_lease",
        "False",
    ),
    Fault(
        "shipped",
        "who registers is not active at once",
        "Controller._see",
        "changed |= self.registry.set_state(broker, BrokerState.ACTIVE, cause='registered')",
    ),
    Fault("shipped", "a bounce is no failure", "Registry.adopt", "fences and known.is_counted", "False"),
    # The partition.
    Fault(
        "silence",
        "who is out stays in the ISR",
        "Partitions.wanted",
        "tuple(one for one in state.isr if self._is_counted(one) and one not in former) or state.isr",
        "state.isr",
    ),
    Fault(
        "silence",
        "the last member goes, too",
        "Partitions.wanted",
        "tuple(one for one in state.isr if self._is_counted(one) and one not in former) or state.isr",
        "tuple(one for one in state.isr if self._is_counted(one) and one not in former)",
    ),
    Fault("silence", "the leader epoch stays", "Partitions.wanted", "state.leader_epoch + 1", "state.leader_epoch"),
    Fault(
        "silence",
        "nobody is elected",
        "Partitions._elected",
        "one in isr and self._state(one) is BrokerState.ACTIVE",
        "False",
    ),
    Fault("silence", "the state names no incarnation", "Partitions._incarnation", "known.incarnation", "0"),
    Fault(
        "stopping",
        "a leadership is handed over at once",
        "Partitions._handed_over",
        "self.design.handover_acknowledged",
        "False",
    ),
    Fault(
        "stopping",
        "a successor is elected before the former one knows",
        "Partitions._may_be_led",
        "one and one.is_counted and one.is_owed",
        "False",
    ),
    Fault(
        "silence",
        "a state is written without its epoch",
        "Partitions.write",
        "controller_epoch=office.epoch",
        "controller_epoch=0",
    ),
    # ISR changes.
    Fault(
        "steady",
        "a change is granted and not made",
        "IsrChanges._granted",
        "isr=asked.isr",
        "isr=self._current(of).isr",
    ),
    Fault(
        "late copy",
        "a change of any version is taken",
        "IsrChanges._judge",
        "self.design.partition_version and asked.version != partition.version",
        "False",
    ),
    Fault(
        "silence",
        "a change of any leader epoch is taken",
        "IsrChanges._judge",
        "state.leader_epoch != asked.leader_epoch",
        "False",
    ),
    Fault(
        "silence",
        "anybody may join",
        "IsrChanges._may_join",
        "self.design.active_members and (known is None or not known.is_counted)",
        "False",
    ),
    Fault(
        "steady",
        "the ISR that was granted is not known",
        "Replica.take_result",
        "names_state and version > self.version",
        "False",
    ),
    # Control requests and records.
    Fault(
        "silence",
        "a newer leader epoch is not taken",
        "Replica.take",
        "state.leader_epoch > self.leader_epoch",
        "False",
    ),
    Fault(
        "silence",
        "a new leader remembers its followers",
        "Replica.take",
        "self.followers, self.since_ms = ({}, now_ms)",
        "pass",
    ),
    Fault("silence", "what was asked for is remembered", "Replica.take", "self.proposed = ()", "pass"),
    Fault(
        "steady",
        "an old fetch counts after an append",
        "Replica.append",
        "is_caught_up=False",
        "is_caught_up=seen.is_caught_up",
    ),
    Fault("steady", "the ISR that was asked for does not count", "Replica.maximal_isr", "*self.proposed", "*()"),
    Fault(
        "steady", "acknowledged by the leader alone", "Replica.completed", "self.maximal_isr - {self.broker}", "set()"
    ),
    Fault(
        "failover",
        "a new controller owes nothing",
        "Control._send",
        "known.is_new or bool(known.to_take)",
        "bool(known.to_take)",
    ),
    Fault(
        "failover",
        "the epoch of a controller is not remembered",
        "Broker._refuses",
        "self.controller, self.controller_epoch = (controller, epoch)",
        "self.controller = controller",
    ),
    Fault(
        "stopping",
        "what waits to be taken notice of is sent again",
        "Controller.control_request",
        "(tell.to.broker, tell.incarnation, tell.number) in self.acknowledged",
        "False",
    ),
    # ZooKeeper that lags, legacy leaders, upgrades, followers that are named.
    Fault("view", "a watch is not heard", "Registry.hear", "self.stale.add(broker)"),
    Fault(
        "session",
        "a change of any incarnation is taken",
        "IsrChanges.handle",
        "known is None or known.incarnation != request.incarnation_id",
        "known is None",
    ),
    Fault(
        "legacy",
        "a legacy leader overwrites what it does not know",
        "LegacyIsrs._write",
        "SetData(state_path(replica.of), state_bytes(state), replica.version)",
        "SetData(state_path(replica.of), state_bytes(state), -1)",
    ),
    Fault(
        "legacy",
        "a legacy leader reads nothing again",
        "LegacyIsrs._write",
        "self.design.rereads_on_bad_version",
        "False",
    ),
    Fault(
        "legacy",
        "a leader that is not named leads on",
        "Partitions._names_as_it_should",
        "state.leader == NO_LEADER or state.leader in named or (not self.design.leader_incarnation)",
        "True",
    ),
    Fault(
        "upgrade",
        "a leader that nobody has registered is not looked at",
        "Controller._take_office",
        "self.partitions.of_replica",
        "self.registry.brokers",
    ),
    Fault(
        "silence", "followers are not named", "Partitions._incarnation", "self.design.follower_incarnations", "False"
    ),
    Fault("silence", "who is out is named", "Partitions._incarnation", "known.is_counted", "True"),
]

SURVIVORS = [
    Fault(
        "session",
        "who registers anew is not fenced",
        "Fence.close",
        "not self.is_fenced",
        "cause != 'a new session' and cause != 'a new incarnation'",
    ),
    Fault("steady", "an answer is not taken", "Replica.take_result", "self.proposed = ()"),
]
"""The first is none: the lease is over with either cause, and whoever looks next finds it fenced. The last is found in
`stopping` only, after 34 steps."""
