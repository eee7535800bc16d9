"""The end of a command: every exception becomes one message and an exit code, in one place.

Only a command that returns has a verdict. What was foreseen is one message (`FencepostError`); what was not is a bug
in Fencepost, reported with what it takes to find it, and has an exit code of its own.
"""

from __future__ import annotations

import io
import os
import platform
import select
import shlex
import sys
import sysconfig
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TextIO

import click

from checker.errors import FencepostError, FencepostWarning, cannot_write, is_full
from checker.lang.errors import Place, SpecError
from checker.redaction import redacted
from checker.verdicts import INTERRUPTED, ExitCode
from traces.trace import TraceError, printable
from traces.values import shortened

MOST_CHARACTERS = 20_000  # of a message


def prepare() -> None:
    """Standard streams that can be written to whatever they are, warnings as notes, modules of the current folder."""
    with suppress(OSError):  # it is gone
        if str(Path.cwd()) not in sys.path:
            sys.path.append(str(Path.cwd()))  # a module is named as with `python -m`; what is installed comes first
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:  # closed by whoever started us: its number must not go to some other file
            _discard(number)
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], filename: str, lineno: int,
             file: TextIO | None = None, line: str | None = None) -> None:  # fmt: skip
        if issubclass(category, FencepostWarning):
            click.echo(redacted(f"note: {message}"), err=True)
        else:
            usual(message, category, filename, lineno, file, line)

    warnings.showwarning = show


def finish(command: Callable[[], int | None], arguments: Sequence[str]) -> int:
    """Run a command. Gives its exit code, and says on standard error why, where it did not end by itself."""
    try:
        code = command() or 0
        sys.stdout.flush()
    except BaseException as error:
        text, code = ending(error, arguments)
        for number, stream in ((1, sys.stdout), (2, sys.stderr)):
            try:
                if number == 2 and text:
                    click.echo(text, err=True)
                stream.flush()
            except (OSError, ValueError):  # nobody reads it, or there is no room: else Python tries again at its end
                _discard(number)
    return code


def ending(error: BaseException, arguments: Sequence[str]) -> tuple[str, int]:
    """(what to say, the exit code) of a command that an exception ended."""
    if isinstance(error, click.exceptions.Exit):  # --help, --version
        return "", error.exit_code
    if isinstance(error, KeyboardInterrupt | click.exceptions.Abort):  # outside of a search, which reports its counts
        return INTERRUPTED, ExitCode.INCOMPLETE
    if isinstance(error, BrokenPipeError) and _nobody_reads():  # the reader, `head` say, has seen enough
        return "", ExitCode.BROKEN_PIPE
    if isinstance(error, click.ClickException):
        error.show(text := io.StringIO())
        return _fit(text.getvalue().rstrip("\n")), ExitCode.USAGE
    if isinstance(error, OSError):
        foreseen = _of_the_system(error)
        error = error if foreseen is None else foreseen
    if isinstance(error, FencepostError):
        return _fit(error.message), error.exit_code
    if isinstance(error, TraceError):
        return _fit(f"error: {error}"), ExitCode.USAGE
    if isinstance(error, SystemExit):
        return f"error: the spec, or an adapter, ended the process (SystemExit: {error.code})", ExitCode.USAGE
    place = _place_of_others(error)
    if place is not None:
        return _fit(SpecError(f"{type(error).__name__}: {error}", place=place).message), ExitCode.USAGE
    return crash_report(error, arguments), ExitCode.INTERNAL


def _place_of_others(error: BaseException) -> Place | None:
    """The line that raised, where it is of a spec or an adapter: of neither Fencepost, nor Python, nor a library."""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, MemoryError) or not frames or not Path(frames[-1].filename).is_file():
        return None
    file = Path(frames[-1].filename).resolve()
    ours = [Path(__file__).parents[1], Path(printable.__code__.co_filename).parent]
    libraries = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    if any(file.is_relative_to(Path(str(folder)).resolve()) for folder in [*ours, *libraries]):
        return None
    return Place(frames[-1].filename, frames[-1].lineno or 0)


def _nobody_reads() -> bool:
    """True if the reader of standard output or standard error is gone."""
    streams = select.poll()
    for number in (1, 2):
        streams.register(number, 0)
    return bool(streams.poll(0))


def _of_the_system(error: OSError) -> FencepostError | None:
    """A path that does not do, or a disk without room; None for what no input explains."""
    if is_full(error):
        return cannot_write(error.filename or "standard output", error)
    return FencepostError(f"{error.filename}: {error.strerror}") if error.filename and error.strerror else None


def _fit(text: str) -> str:
    return redacted(shortened(text, MOST_CHARACTERS))


def crash_report(error: BaseException, arguments: Sequence[str]) -> str:
    """The report to send to whoever maintains Fencepost. Secrets on the command line and in the stack are left out."""
    name = type(error).__name__
    lines = [
        f"internal error: {name}: {shortened(str(error), 1000)}",
        "This is a bug in Fencepost, and no verdict. Please report it with all of the following:",
        f"  fencepost {_version()}, Python {platform.python_version()}, {platform.platform()}",
        f"  {shlex.join(['fencepost', *arguments])}",
    ]
    if isinstance(error, MemoryError):
        lines.insert(1, "Memory ran out: --memory-gib stops a search before it does.")
    text = "".join(traceback.format_exception(error))
    return redacted("\n".join([*lines, "", shortened(text, MOST_CHARACTERS).rstrip()]))


def _version() -> str:
    try:
        return version("fencepost")
    except PackageNotFoundError:
        return "(not installed)"


def _discard(number: int) -> None:
    """Discard what is written to a file descriptor from now on."""
    with suppress(OSError):
        null = os.open(os.devnull, os.O_RDWR)
        if null != number:
            os.dup2(null, number)
            os.close(null)
