"""The leader epochs of a log: where each begins.

`leader-epoch-checkpoint` is derived from the log and written again at each start; but as no CRC covers the epoch of a
batch, the two are compared before. So it has an epoch on disk before the log has its first batch.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise

from impl.kraft.storage.disk import Disk, read_whole, write_durably

CHECKPOINT = "leader-epoch-checkpoint"


@dataclass
class EpochHistory:
    """Epochs and their first offsets, both rising."""

    starts: list[tuple[int, int]] = field(default_factory=list)

    def note(self, epoch: int, offset: int) -> bool:
        """A batch of this epoch is at this offset. True where it is the first."""
        if self.starts and self.starts[-1][0] >= epoch:
            return False
        self.starts.append((epoch, offset))
        return True

    def cut(self, end_offset: int) -> None:
        """The log ends here from now on."""
        while self.starts and self.starts[-1][1] >= end_offset:
            self.starts.pop()

    def cut_front(self, start_offset: int) -> None:
        """The log begins here from now on."""
        first = bisect_right([start for _, start in self.starts], start_offset) - 1
        if first >= 0:
            self.starts[: first + 1] = [(self.starts[first][0], start_offset)]

    def last(self) -> int:
        """0: none."""
        return self.starts[-1][0] if self.starts else 0

    def end_of(self, epoch: int, log_end: int) -> tuple[int, int] | None:
        """The largest epoch not above this one, and its end (exclusive). None: all are above."""
        at = bisect_right([start[0] for start in self.starts], epoch)
        if at == 0:
            return None
        return self.starts[at - 1][0], self.starts[at][1] if at < len(self.starts) else log_end

    def before(self, start_offset: int, end_offset: int) -> list[tuple[int, int]]:
        """The epochs that batches between these offsets are of, each with where it begins among them."""
        kept = [(epoch, max(start, start_offset)) for epoch, start in self.starts if start < end_offset]
        return [entry for entry, following in pairwise([*kept, (0, end_offset)]) if entry[1] < following[1]]


def write_checkpoint(disk: Disk, directory: str, history: EpochHistory) -> None:
    """Kafka's text: version 0, the number of lines, `epoch start` in each."""
    lines = ["0", str(len(history.starts)), *(f"{epoch} {start}" for epoch, start in history.starts)]
    write_durably(disk, directory, CHECKPOINT, "".join(f"{line}\n" for line in lines).encode())


def read_checkpoint(disk: Disk, directory: str) -> EpochHistory | None:
    """None: it is missing, or no checkpoint."""
    try:
        lines = read_whole(disk, f"{directory}/{CHECKPOINT}").decode().splitlines()
        entries = [tuple(map(int, line.split(" "))) for line in lines[2:]]
        if lines[:2] != ["0", str(len(entries))]:
            return None
        return EpochHistory([(epoch, start) for epoch, start in entries])
    except (FileNotFoundError, ValueError):
        return None
