"""A leader of the former protocol: it writes ISRs to ZooKeeper itself, on condition of the version that it knows.

KIP-343, Compatibility, Deprecation, and Migration Plan. As Kafka 2.0 has it, the state is written without the fields
that it does not know.
"""

from __future__ import annotations

from impl.heartbeat.design import Design
from impl.heartbeat.leader import Leader
from impl.heartbeat.replica import Replica
from impl.heartbeat.scripts import Context, Script, do
from impl.heartbeat.znodes import LeaderAndIsr, read_state, state_bytes, state_path
from impl.zookeeper import ErrorCode, Failed, Found, GetData, SetData, Written
from impl.zookeeper.znodes import ZnodeError


class LegacyIsrs:
    """Writes the ISRs that the leaderships of one broker want."""

    def __init__(self, context: Context, design: Design, leader: Leader) -> None:
        self.context = context
        self.design = design
        self.leader = leader

    @property
    def wanted(self) -> list[Replica]:
        """The replicas whose ISR is to be another one."""
        replicas = self.leader.replicas
        return [replicas[of] for of in sorted(replicas) if replicas[of].leads and replicas[of].proposed]

    def write(self) -> Script[None]:
        """Write what is wanted, one after the other."""
        for replica in self.wanted:
            yield from self._write(replica)

    def _write(self, replica: Replica) -> Script[None]:
        leader_epoch, isr = replica.leader_epoch, replica.proposed
        state = LeaderAndIsr(replica.broker, leader_epoch, isr, replica.controller_epoch)
        outcome = yield from do(SetData(state_path(replica.of), state_bytes(state), replica.version))
        if (replica.leader_epoch, replica.proposed) != (leader_epoch, isr):
            return  # it was sent something newer meanwhile
        if isinstance(outcome, Written):
            replica.isr, replica.version, replica.proposed = isr, outcome.stat.version, ()
            facts = {"partition": str(replica.of), "isr": list(isr), "version": replica.version}
            self.context.log("ISR written", facts)
            self.context.did("write_isr", **facts)
        elif isinstance(outcome, Failed) and outcome.code is ErrorCode.BAD_VERSION:
            if self.design.rereads_on_bad_version:
                yield from self._read(replica, leader_epoch)

    def _read(self, replica: Replica, leader_epoch: int) -> Script[None]:
        """Its version is not the one that is there (KAFKA-2729, KAFKA-1382): know what is."""
        path = state_path(replica.of)
        outcome = yield from do(GetData(path))
        if not isinstance(outcome, Found) or replica.leader_epoch != leader_epoch:
            return
        try:
            state = read_state(path, outcome.data or b"")
        except ZnodeError as error:
            self.context.log("garbage in a znode", {"what": str(error)}, is_warning=True)
            return
        if (state.leader, state.leader_epoch) == (replica.broker, leader_epoch):
            replica.isr, replica.version, replica.proposed = state.isr, outcome.stat.version, ()
