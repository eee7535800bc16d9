"""What a process holds in memory."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path


def resident_bytes() -> int:
    """What this process has in memory now; where the system does not say that, the most that it had."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024  # not the same unit everywhere


class Held:
    """What a process has come to hold since this was made."""

    def __init__(self) -> None:
        self._before = resident_bytes()

    def now(self) -> tuple[str, int]:
        """(which process, bytes)."""
        return f"process {os.getpid()}", max(0, resident_bytes() - self._before)
