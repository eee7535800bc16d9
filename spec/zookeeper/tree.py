"""The tree: zxids, and versions with what they cannot tell.

A znode is an option of a record of its design: its data and what some step or property reads of version, owner, zxid.
"""

from __future__ import annotations

from checker.lang import Ordinal


class Zxid(Ordinal):
    """The zxid of a write. There is one for all of a multi."""


CREATED = 0
"""The version of a znode that was just created, for the first time or again."""
