"""Traces in files. The ending of the name decides the format."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path

from traces.itf import from_itf, to_itf
from traces.ndjson import from_ndjson, to_ndjson
from traces.reading import parse
from traces.trace import Trace, TraceError

ENDINGS = (".itf.json", ".json", ".ndjson")
"""Known endings: the first two are ITF JSON, the last is NDJSON."""


def load(path: str | Path) -> Trace:
    """The trace in the file `path`, in the format that its ending names.

    Raises `TraceError` with one message (file, line or JSON path, how to fix it) whatever the file holds.
    """
    ending = _ending(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise TraceError(f"this is not UTF-8 text (byte {error.start})", where=str(path)) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise TraceError(f"cannot read it: {getattr(error, 'strerror', error)}", where=str(path)) from None
    if not text.strip():
        raise TraceError("the file is empty", where=str(path), hint="Write it again")
    try:
        return from_ndjson(text) if ending == ".ndjson" else from_itf(parse(text))
    except TraceError as error:
        raise error.within(str(path)) from None


def save(trace: Trace, path: str | Path) -> None:
    """Writes `trace` to `path` in the format that its ending names, replacing what is there.

    It is written beside `path` and renamed, so that a reader finds the old file or the new one, never a half.
    Raises `TraceError` for an unknown ending, OSError that names the file where it cannot be written.
    """
    text = to_ndjson(trace) if _ending(path) == ".ndjson" else json.dumps(to_itf(trace), indent=1) + "\n"
    try:
        write_whole(Path(path), text.encode())
    except ValueError as error:  # a NUL in the name
        raise TraceError(f"cannot write it: {error}", where=str(path)) from None


def write_whole(path: Path, content: bytes, *, is_program: bool = False) -> None:
    """Write a file under another name beside it, then rename: it is there whole or not at all.

    What is there and no file (a pipe, a terminal) is written to as it is. is_program: everybody may run it, from the
    moment on that it is there.
    Raises OSError that names `path`, ValueError for a path that none can have.
    """
    if path.exists() and not path.is_file():
        with _named(path), path.open("wb") as stream:
            stream.write(content)
        return
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with _named(path), draft.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            if is_program:
                draft.chmod(0o755)
            draft.replace(path)
    finally:
        with suppress(OSError, ValueError):  # after a rename, or where it could not be made, there is no draft
            draft.unlink()


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Errors of the system name `path`."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def _ending(path: str | Path) -> str:
    name = Path(path).name
    for ending in ENDINGS:
        if name.endswith(ending):
            return ending
    found = Path(name).suffix
    near = get_close_matches(found, ENDINGS, n=1, cutoff=0.5) if found else []
    what = f'no format has the ending "{found}"' if found else "the name has no ending that names a format"
    hint = f"Did you mean {near[0]}? " if near else ""
    raise TraceError(what, where=str(path), hint=f"{hint}Known are .itf.json and .json (ITF), .ndjson (NDJSON)")
