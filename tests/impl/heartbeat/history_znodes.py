"""The znodes of a run, as ZooKeeper's transaction log has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from impl.heartbeat.znodes import (
    CONTROLLER_EPOCH,
    LeaderAndIsr,
    id_path,
    read_broker,
    read_state,
    state_path,
)
from impl.zookeeper.transaction_log import Change, Logged
from impl.zookeeper.znodes import read_decimal
from tests.impl.heartbeat.cluster import PARTITION, REPLICAS

_STATE = state_path(PARTITION)
IDS = {id_path(broker): broker for broker in REPLICAS}


@dataclass(frozen=True)
class Registered:
    """`/brokers/ids/<id>`."""

    czxid: int
    session: int
    is_legacy: bool


@dataclass
class Znodes:
    """The znodes as a transaction left them."""

    ids: dict[int, Registered] = field(default_factory=dict)
    partition: LeaderAndIsr | None = None
    version: int = -1
    epoch: int = 0

    def apply(self, change: Change, one: Logged) -> None:
        data = change.data
        if change.path == CONTROLLER_EPOCH and data is not None:
            self.epoch = read_decimal(CONTROLLER_EPOCH, data)
        elif change.path == _STATE and data is not None:
            self.version = 0 if change.is_create else self.version + 1
            self.partition = read_state(_STATE, data)
        elif change.path in IDS:
            self.ids.pop(IDS[change.path], None)
            if data is not None:
                info = read_broker(change.path, data)
                self.ids[IDS[change.path]] = Registered(one.zxid, one.session, info.is_legacy)

    def state(self) -> dict[str, Any]:
        """As the spec has them."""
        state = self.partition
        assert state is not None, "the run has begun"
        partition: dict[str, Any] = {
            "leader": f"broker{state.leader}" if state.leader >= 0 else None,
            "leader_epoch": state.leader_epoch,
            "isr": [f"broker{one}" for one in sorted(state.isr)],
            "version": self.version,
            "controller_epoch": state.controller_epoch,
            "incarnations": {f"broker{one}": state.named().get(one) for one in REPLICAS},
        }
        ids = {}
        for broker in REPLICAS:
            one = self.ids.get(broker)
            ids[f"broker{broker}"] = one and {
                "process": f"process{broker}", "czxid": one.czxid, "legacy": one.is_legacy
            }  # fmt: skip
        return {"partition": partition, "ids": ids}
