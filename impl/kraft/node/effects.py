"""Effects that a node asks for: those of the quorum that are not for its controller, and those of its controller.

They are carried out in order, as those of `impl.kraft.raft.effects`. Two kinds set timers: `raft.effects.SetTimer` with
a range of times and a peer, `effects.SetTimer` with a time.
"""

from __future__ import annotations

from impl.kraft.effects import Reply
from impl.kraft.effects import SetTimer as SetControllerTimer
from impl.kraft.raft.effects import Answer, AnswerFetch, Claim, Committed, Renounce, Send, SetTimer
from impl.kraft.storage.effects import DiskEffect

NodeEffect = DiskEffect | Send | Answer | AnswerFetch | SetTimer | Reply | SetControllerTimer
NodeEffects = list[NodeEffect]

Asked = NodeEffect | Committed | Claim | Renounce
"""What the two cores ask for, before what is between them is carried out."""
