"""Compiled kernels on disk.

An entry is one file: a SHA-256 of its key and of all that follows, the length of the metadata, the metadata as
JSON, the object code. It is written beside its place and renamed, so that readers see all of it or nothing, and two
writers of one key do no harm. An entry that does not match its digest counts as absent: it is damaged, or it is
another model's, in the wrong place.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipimport import zipimporter

from checker.errors import FencepostWarning
from checker.explicit.kernel.native import host

_DIGEST = 32
_LENGTH = 8
_CHECKER, _MADE_BY = Path(__file__).parents[2], ("explicit", "lang")


def cache_directory() -> Path:
    """`$FENCEPOST_CACHE`, else `fencepost` in the user's cache directory."""
    chosen = os.environ.get("FENCEPOST_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "fencepost"


@functools.cache
def _environment() -> bytes:
    """All that a kernel depends on besides its model: the explicit engine, the front end, LLVM, the processor."""
    digest = hashlib.sha256(host().encode())
    for file in own_sources():
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.digest()


def own_sources() -> list[Path]:
    """The files that kernels are made by: the checker's, or on the executors of a cluster the zip that has them."""
    loader = sys.modules[__name__].__loader__
    if isinstance(loader, zipimporter):
        return [Path(loader.archive)]
    return [file for name in _MADE_BY for file in sorted((_CHECKER / name).rglob("*.py"))]


def _name(key: str) -> str:
    return hashlib.sha256(_environment() + key.encode()).hexdigest()


def _path(name: str) -> Path:
    return cache_directory() / name[:2] / f"{name}.kernel"


def _digest(name: str, body: bytes) -> bytes:
    """The digest that binds an entry to its key: without it, an entry moved to another's place would pass for it."""
    digest = hashlib.sha256(name.encode())
    digest.update(body)
    return digest.digest()


def load_entry(key: str) -> tuple[dict[str, Any], bytes] | None:
    """Metadata and object code under `key`; None where there is no sound entry."""
    name = _name(key)
    try:
        data = _path(name).read_bytes()
    except OSError:
        return None
    body = data[_DIGEST:]
    if _digest(name, body) != data[:_DIGEST]:
        return None
    length = int.from_bytes(body[:_LENGTH], "little")
    return json.loads(body[_LENGTH : _LENGTH + length]), body[_LENGTH + length :]


def store_entry(key: str, metadata: Mapping[str, Any], code: bytes) -> None:
    """Keep an entry. A cache that cannot be written is not an error: the next start compiles again."""
    described = json.dumps(metadata).encode()
    body = len(described).to_bytes(_LENGTH, "little") + described + code
    name = _name(key)
    path = _path(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_digest(name, body) + body)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink()
            raise
    except OSError as error:
        _warn_of(cache_directory(), error.strerror)


@functools.cache
def _warn_of(folder: Path, reason: str) -> None:
    """Say once that nothing is kept there."""
    text = f"{folder} cannot be written ({reason}): compiled models are not kept; FENCEPOST_CACHE names another folder"
    warnings.warn(text, FencepostWarning, stacklevel=3)
