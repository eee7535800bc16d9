"""A search on shared files, so that it can be resumed after its driver was killed.

The folder holds `levels/` (per level and shard a run of the states first found there), `runs/` (older runs merged)
and `manifest-000001.json`, `manifest-000002.json`, ...: one for each level, which names the files that count and
carries the rest of the search, with a digest of itself and of each of them. A level counts once its manifest is
written whole; files that the newest manifest does not name are left over from tasks that were killed, and go when the
search is resumed.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from checker.running.checkpoint import CheckpointError
from checker.spark.runs import Folder, Run
from checker.spark.shard_tasks import ShardFiles

VERSION = 2
_PREFIX, _ENDING = "manifest-", ".json"
_OURS = re.compile(r"(levels/\d{6}|runs)/\d{4}-[0-9a-f]{16}\.parquet")  # as in `work`; other files are let be


@dataclass
class Saved:
    """A search as of its last whole level. levels: per level and shard the run of its states, if it has any.

    shards: what each shard's visited states are. findings: as `Findings.saved` gives them. sent_bytes: so far.
    """

    levels: list[list[Run | None]]
    shards: list[ShardFiles]
    findings: dict[str, Any]
    sent_bytes: int


class Checkpoint:
    """One folder, for one model (`key`, as of its kernel) and number of shards."""

    def __init__(self, folder: Folder, key: str) -> None:
        self.folder = folder
        self._key = key

    def create(self) -> None:
        """Start afresh. Raises CheckpointError where there already is a search."""
        if self._manifests():
            place = self.folder.place
            raise CheckpointError(f"{place} already holds a checkpoint: resume from it, or name another folder")
        self._sweep(set())

    def load(self) -> Saved:
        """The checkpoint that was saved last. Raises CheckpointError if there is nothing that can be resumed."""
        place = self.folder.place
        manifests = self._manifests()
        contents = ((name, self._read(name)) for name in reversed(manifests))
        newest, content = next(((name, found) for name, found in contents if found is not None), ("", None))
        if content is None:
            why = "its manifest is damaged" if manifests else "there is no manifest of a search on Spark"
            raise CheckpointError(f"no checkpoint to resume from: {place}: {why}")
        if content["version"] != VERSION:
            raise CheckpointError(f"{place} has format {content['version']}, this program reads {VERSION}")
        if content["key"] != self._key:
            raise CheckpointError(f"{place} is of another model, other constants, or an older spec")
        levels = [[_run(found) for found in level] for level in content["levels"]]
        visited = [tuple(Run(*found) for found in runs) for runs in content["visited"]]
        shards = [ShardFiles(last, runs) for last, runs in zip(levels[-1], visited, strict=True)]
        saved = Saved(levels, shards, content["findings"], content["sent_bytes"])
        self._sweep(_names(saved) | {newest})
        return saved

    def tidy(self, saved: Saved) -> None:
        """Delete files that count no more, or never did, while `saved` is what was saved last."""
        self._sweep(_names(saved) | {_name(len(saved.levels))})

    def save(self, saved: Saved) -> None:
        """Make the last level count; then delete what it put in place of."""
        content = {
            "version": VERSION,
            "key": self._key,
            "levels": [[run and _listed(run) for run in level] for level in saved.levels],
            "visited": [[_listed(run) for run in shard.visited] for shard in saved.shards],
            "findings": saved.findings,
            "sent_bytes": saved.sent_bytes,
        }
        body = json.dumps(content)
        outer = {"digest": hashlib.sha256(body.encode()).hexdigest(), "content": body}
        level = len(saved.levels)
        self.folder.write(_name(level), json.dumps(outer).encode())
        merged = (run.name for shard in saved.shards for run in shard.garbage if run.name.startswith("runs/"))
        try:
            self.folder.remove([_name(level - 1), *merged])
        except OSError as error:
            raise CheckpointError(f"{self.folder.place}: {error}") from error

    def _manifests(self) -> list[str]:
        try:
            names = self.folder.names()
        except OSError as error:
            raise CheckpointError(f"{self.folder.place}: {error}") from error
        return [name for name in names if name.startswith(_PREFIX) and name.endswith(_ENDING)]

    def _read(self, name: str) -> dict[str, Any] | None:
        """A manifest; None where it is not whole."""
        try:
            outer = json.loads(self.folder.read(name))
            body, digest = outer["content"], outer["digest"]
            content: dict[str, Any] = json.loads(body)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return content if hashlib.sha256(body.encode()).hexdigest() == digest else None

    def _sweep(self, kept: set[str]) -> None:
        """Delete the manifests and runs that are not among `kept`."""
        try:
            runs = [name for part in ("levels", "runs") for name in self.folder.names(part) if _OURS.fullmatch(name)]
            self.folder.remove([name for name in (*self._manifests(), *runs) if name not in kept])
        except OSError as error:
            raise CheckpointError(f"{self.folder.place}: {error}") from error


def _names(saved: Saved) -> set[str]:
    parts = [*saved.levels, *(shard.visited for shard in saved.shards)]
    return {run.name for runs in parts for run in runs if run is not None}


def _name(level: int) -> str:
    return f"{_PREFIX}{level:06}{_ENDING}"


def _listed(run: Run) -> list[Any]:
    return [run.name, run.states, run.size_bytes, run.footer_at, run.digest]


def _run(found: list[Any] | None) -> Run | None:
    return None if found is None else Run(*found)
