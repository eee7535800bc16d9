"""How a broker is fenced, by its own heartbeat or because its lease has run out. KIP-631, Broker State Machine."""

from __future__ import annotations

from impl.kraft.controller.partitions import taken_out
from impl.kraft.controller.settings import ControllerSettings
from impl.kraft.image import Image
from impl.kraft.records import FenceBrokerRecord, Record


def fenced(image: Image, settings: ControllerSettings, broker_id: int) -> tuple[Record, ...]:
    """The records that fence a broker."""
    broker_epoch = image.registrations[broker_id].broker_epoch
    return (*taken_out(image, settings, broker_id), FenceBrokerRecord(broker_id=broker_id, broker_epoch=broker_epoch))
