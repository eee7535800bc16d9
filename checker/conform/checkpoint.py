"""A product on disk, so that its exploration can be resumed.

`pairs` has, in the order of their numbers, of each pair the number of the one that it came out of, the instance, and
its digest; `receivers` has those that were probed. No SUT is on disk: whoever resumes drives it again, on the ways
that led to the pairs of the last level. It has to come to the same pairs, so that a change of it is noticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from struct import Struct
from typing import Any

from checker.conform.canonical import DIGEST_BYTES, Digest
from checker.conform.worker import Candidate, Counts, Probed
from checker.running.checkpoint import CheckpointError, Folder, Reader

VERSION = 1
PAIR = Struct(f"<qq{2 * DIGEST_BYTES}s")
RECEIVER = Struct(f"<qqq{DIGEST_BYTES}s")
FILES = (("pairs", PAIR), ("receivers", RECEIVER))


class Checkpoint:
    """One directory. levels: per level saved, the number of pairs in it."""

    def __init__(self, folder: Folder, name: str) -> None:
        """name: of the implementation."""
        self._folder, self._name = folder, name
        self.levels: list[int] = []
        self.counts: Counts | None = None
        """Of all levels saved, where there were some when it was opened."""
        self._receivers = 0
        self._crcs = [0, 0]

    @classmethod
    def create(cls, directory: Path, key: str, name: str) -> Checkpoint:
        """A new one. key: of the model. Raises CheckpointError where there already is one, or none can be made."""
        return cls(Folder.create(directory, VERSION, key), name)

    @classmethod
    def open(cls, directory: Path, key: str, name: str) -> Checkpoint:
        """One to go on from. Raises CheckpointError where that cannot be."""
        checkpoint = cls(Folder(directory, VERSION, key), name)
        manifest = checkpoint._folder.manifest()
        if manifest["implementation"] != name:
            raise CheckpointError(f"{directory} is of {manifest['implementation']}, and not of {name}")
        checkpoint.levels, checkpoint._receivers = manifest["levels"], manifest["receivers"]
        checkpoint._crcs, checkpoint.counts = manifest["crcs"], Counts(**manifest["counts"])
        return checkpoint

    def pairs(self) -> Iterator[Candidate]:
        """All that were saved. Raises CheckpointError where they are damaged."""
        return (Candidate(*row) for row in self._rows(0, sum(self.levels)))

    def receivers(self) -> Iterator[tuple[Digest, Probed]]:
        """All that were saved. Raises CheckpointError where they are damaged."""
        return ((receiver, Probed(*where)) for *where, receiver in self._rows(1, self._receivers))

    def _rows(self, which: int, many: int) -> Iterator[tuple[Any, ...]]:
        name, row = FILES[which]
        reader = Reader(self._folder.place / name)
        try:
            for _ in range(many):
                yield row.unpack(reader.read(row.size))
            reader.end(self._crcs[which])
        finally:
            reader.close()

    def save(self, level: Iterable[Candidate], receivers: Iterable[tuple[Digest, Probed]], counts: Counts) -> None:
        """Append a level. receivers: those that were not there before. Raises FencepostError on a full disk etc."""
        pairs = [PAIR.pack(*candidate) for candidate in level]
        probed = [RECEIVER.pack(*where, receiver) for receiver, where in receivers]
        is_new = not self.levels
        try:
            for which, rows in enumerate((pairs, probed)):
                self._crcs[which] = self._folder.append(FILES[which][0], rows, self._crcs[which], is_new=is_new)
            self.levels.append(len(pairs))
            self._receivers += len(probed)
            content = {"implementation": self._name, "levels": self.levels, "receivers": self._receivers}
            self._folder.write_manifest({**content, "crcs": self._crcs, "counts": vars(counts)})
        except OSError as error:
            raise self._folder.unwritable(error) from error

    def close(self) -> None:
        """Let others have the directory."""
        self._folder.close()

    def changed(self, level: int) -> CheckpointError:
        """The error to raise where the implementation does not come to a pair of this level again."""
        return CheckpointError(
            f"{self._folder.place} does not fit the implementation: after {level} steps of a way that was saved "
            "it is elsewhere; it was changed: start again in another directory"
        )
