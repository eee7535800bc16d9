"""Control requests: what a controller has to send each broker, of which the newest is sent once the last one is
acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterable

from impl.heartbeat.control_requests import (
    Endpoint,
    LeaderAndIsrRequest,
    TopicPartition,
    UpdateMetadataRequest,
)
from impl.heartbeat.design import Design
from impl.heartbeat.effects import ControlRequest, Tell
from impl.heartbeat.partitions import Partitions
from impl.heartbeat.registry import Known, Registry
from impl.heartbeat.scripts import Context
from impl.zookeeper.election import Office


class Control:
    """The control requests of one controller. numbers: of the last one that was sent."""

    def __init__(
        self, broker: int, context: Context, design: Design, registry: Registry, partitions: Partitions
    ) -> None:
        self.broker = broker
        self.context = context
        self.design = design
        self.registry = registry
        self.partitions = partitions
        self.numbers = 0
        self.live = tuple[Endpoint, ...]()
        self.is_live_stale = True

    def changed(self, partitions: Iterable[TopicPartition], *, by_leader: bool = False) -> None:
        """The states of partitions are written: all brokers are to show them, their replicas to take them.

        by_leader: at the wish of the leader, who is given the answer; who leads and who follows is as before.
        """
        partitions = tuple(partitions)
        for known in self.registry.brokers.values() if partitions else ():
            known.to_show.update(partitions)
        if partitions:
            self.registry.unsent.update(self.registry.brokers)
        for of in () if by_leader else partitions:
            for replica in self.partitions.known[of].replicas:
                if replica in self.registry.brokers:
                    self.registry.brokers[replica].to_take.add(of)

    def members_changed(self) -> None:
        """The brokers of the metadata are others now, or listen elsewhere."""
        self.is_live_stale = True
        for known in self.registry.brokers.values():
            known.is_shown = False
        self.registry.unsent.update(self.registry.brokers)

    def acknowledged(self, broker: int, incarnation: int, number: int) -> None:
        known = self.registry.brokers.get(broker)
        if known is not None and known.incarnation == incarnation:
            known.sent.pop(number, None)
            self.registry.unsent.add(broker)

    def send(self, office: Office, only: int | None = None) -> None:
        """Send what can be sent, to all brokers or only to this one."""
        if self.is_live_stale:
            endpoints = (self.registry.endpoint(broker) for broker in self.registry.counted())
            self.live = tuple(one for one in endpoints if one is not None)
            self.is_live_stale = False
        unsent = self.registry.unsent
        for broker in sorted(unsent) if only is None else [only] if only in unsent else ():
            known = self.registry.brokers[broker]
            if known.sent or not (known.is_new or known.to_take or known.to_show or not known.is_shown):
                unsent.discard(broker)
                continue
            if not self.design.fresh_unfence and not known.is_counted:
                continue  # it is sent everything once it is active
            to = self.registry.endpoint(broker)
            if to is not None:
                unsent.discard(broker)
                self._send(office, to, known)

    def _send(self, office: Office, to: Endpoint, known: Known) -> None:
        takes = known.is_new or bool(known.to_take)
        if known.is_new:
            known.to_take = set(self.partitions.of_broker(to.broker))
            known.to_show = set(self.partitions.known)
        known.is_new, known.is_shown = False, True
        if takes:
            self._tell(to, known, known.to_take, leads=True)
        self._tell(to, known, known.to_show, leads=False)
        known.to_take.clear()
        known.to_show.clear()

    def _tell(self, to: Endpoint, known: Known, partitions: Iterable[TopicPartition], *, leads: bool) -> None:
        self.numbers += 1
        known.sent[self.numbers] = leads
        sent = Tell(to, known.incarnation, self.numbers, leads, tuple(sorted(partitions)), known.is_legacy)
        self.context.effects.append(sent)

    def request(self, office: Office, tell: Tell) -> ControlRequest | None:
        """The request as it is to be sent now, with the newest that is known; None: it is not to be sent any more."""
        known = self.registry.brokers.get(tell.to.broker)
        if known is None or known.incarnation != tell.incarnation or tell.number not in known.sent:
            return None
        found = (self.partitions.shown(of) for of in tell.partitions if of in self.partitions.known)
        states = tuple(one for one in found if one is not None)
        if not tell.leads:
            return UpdateMetadataRequest(self.broker, office.epoch, states, self.live, tell.incarnation)
        leaders = {state.leader for state in states}
        live_leaders = tuple(one for one in self.live if one.broker in leaders)
        return LeaderAndIsrRequest(self.broker, office.epoch, states, live_leaders, tell.incarnation)
