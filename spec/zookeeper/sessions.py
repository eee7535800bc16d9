"""Sessions: whom an ephemeral znode belongs to.

A session is an ordinal: it is compared and freshly issued, so processes may start and sessions may end any number of
times. A process whose session has ended, and which is yet to get a new one, has none: no write of its gets through.
"""

from __future__ import annotations

from checker.lang import Option, Ordinal


class Session(Ordinal):
    """A session of a client with ZooKeeper."""


def is_own(owner: Session, session: Option[Session]) -> bool:
    """An ephemeral znode's owner is the session that a process has now. A former session of its own is another's."""
    return session is not None and owner == session
