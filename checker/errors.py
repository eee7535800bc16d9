"""Errors that are foreseen: one base class. Any other exception that ends a command is a bug in Fencepost."""

from __future__ import annotations

import errno
import os
import pickle
import traceback
from pathlib import Path

from checker.verdicts import ExitCode

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""Errors of a write to a file that was opened: the disk, a quota or a limit of the process is exhausted."""


class FencepostError(Exception):
    """Bad input or surroundings. `str` says what is wrong, where, and how to fix it; no stack trace is needed."""

    exit_code = ExitCode.USAGE

    @property
    def message(self) -> str:
        """The text that the command prints."""
        return f"error: {self}"


class UnwritableError(FencepostError):
    """Something found cannot be written: a full disk. The message names the file."""

    exit_code = ExitCode.UNWRITABLE


class FencepostWarning(UserWarning):
    """Something that the user should know, and that changes no verdict."""


def is_full(error: OSError) -> bool:
    """True if a write failed for want of room, not because of a path that was wrong from the start."""
    return error.errno in _FULL


def with_stack(error: Exception) -> Exception:
    """The error for another process to raise, with a note of the stack, which does not travel.

    An error that does not travel itself is replaced by one that says the same.
    """
    if not isinstance(error, FencepostError):
        error.add_note("".join(["In a worker process:\n", *traceback.format_tb(error.__traceback__)]))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        lost = RuntimeError(f"{type(error).__name__}: {error}")
        lost.__notes__ = getattr(error, "__notes__", [])
        return lost
    return error


def cannot_write(path: str | Path, error: OSError, hint: str = "") -> FencepostError:
    """The error to raise where `path` could not be written. hint: how to continue once there is room."""
    reason = f"{path}: {os.strerror(error.errno) if error.errno else error}"
    if is_full(error):
        return UnwritableError(f"{reason}; make room" + (f", then {hint}" if hint else ""))
    return FencepostError(reason)
