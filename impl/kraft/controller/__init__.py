"""The quorum controller: decides what the metadata log says. `Controller` is what a runtime drives.

Each decision is a function of the speculative image (and, where brokers' leases or shutdowns matter, of the soft
state in `sessions`) that returns records and a response; `controller` alone appends, replays, commits and replies.
"""

from impl.kraft.controller.controller import NO_OP_TIMER, Controller, Timer, lease_timer
from impl.kraft.controller.sessions import Session
from impl.kraft.controller.settings import ControllerSettings

__all__ = ["NO_OP_TIMER", "Controller", "ControllerSettings", "Session", "Timer", "lease_timer"]
