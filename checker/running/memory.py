"""Memory: how much a process holds, and how much a search may take by default."""

from __future__ import annotations

import gc
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SHARE = 0.8  # of the memory that is available: the default limit


def resident_bytes(process: int | None = None) -> int:
    """Bytes that this process has in memory now; where the system does not say that, the most that it had.

    process: the id of another one, of which 0 is returned where the system does not say it, or it has ended.
    """
    try:
        return int(Path(f"/proc/{process or 'self'}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        if process is not None:
            return 0
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024  # not the same unit everywhere


class Held:
    """The memory that a process has gained since this was made."""

    def __init__(self) -> None:
        self._before = resident_bytes()

    def now(self) -> tuple[str, int]:
        """(which process, bytes)."""
        return f"process {os.getpid()}", max(0, resident_bytes() - self._before)


def default_memory() -> int:
    """80 % of the bytes that the machine, or the control group this process is in, has available."""
    available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                available = int(line.split()[1]) * 1024
    except OSError:
        pass  # not Linux: all of the memory there is
    return int(min(available, _group_memory(available)) * _SHARE)


def _group_memory(otherwise: int) -> int:
    """Bytes that the control group (v2, then v1) still allows."""
    for limit, usage in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        try:
            return max(0, int(Path(limit).read_text()) - int(Path(usage).read_text()))
        except (OSError, ValueError):
            continue  # no such group, or no limit ("max")
    return otherwise


@contextmanager
def without_collection() -> Iterator[None]:
    """No garbage collection here and in processes forked meanwhile: each would look at all that is kept."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
