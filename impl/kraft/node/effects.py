"""Effects that a node asks for: those of the quorum that are not for its controller or broker, and those of that.

They are carried out in order, as those of `impl.kraft.raft.effects`. Two kinds set timers: `raft.effects.SetTimer` with
a range of times and a peer, `effects.SetTimer` with a time.
"""

from __future__ import annotations

from dataclasses import dataclass

from impl.kraft.effects import Reply
from impl.kraft.effects import Send as SendToController
from impl.kraft.effects import SetTimer as SetControllerTimer
from impl.kraft.node.housekeeping import WriteSnapshot
from impl.kraft.node.tail import Tail
from impl.kraft.raft.effects import (
    Answer,
    AnswerFetch,
    AnswerSnapshot,
    Claim,
    Committed,
    LoadSnapshot,
    Renounce,
    Send,
    SetTimer,
)
from impl.kraft.storage.effects import AppendToLog, DiskEffect, InstallSnapshot, TruncateLog

QuorumEffect = DiskEffect | Send | Answer | AnswerFetch | AnswerSnapshot | SetTimer | LoadSnapshot
"""Those of the quorum. Where a `LoadSnapshot` is among them, `load` is the next input."""


@dataclass(frozen=True, slots=True)
class Applied:
    """Batches of the log are committed, and all before end_offset: a broker in the same process may apply them."""

    batches: tuple[bytes, ...]
    end_offset: int


NodeEffect = QuorumEffect | WriteSnapshot | Reply | SetControllerTimer | Applied
NodeEffects = list[NodeEffect]

Asked = NodeEffect | Committed | Claim | Renounce
"""What the two cores ask for, before what is between them is carried out."""

BrokerEffect = QuorumEffect | WriteSnapshot | SendToController | SetControllerTimer
BrokerEffects = list[BrokerEffect]
AskedByBroker = BrokerEffect | Committed | Claim | Renounce


def note(tail: Tail, effect: object) -> None:
    """The log becomes longer or shorter, and its end with it."""
    match effect:
        case AppendToLog(data=data):
            tail.append(data)
        case TruncateLog(end_offset=end_offset):
            tail.cut(end_offset)
        case InstallSnapshot():
            tail.restart()
