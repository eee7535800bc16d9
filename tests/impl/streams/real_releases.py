"""The classes of real releases of Kafka Streams, from jars that Maven puts into a cache.

    python -m tests.impl.streams.real_releases

fetches them, once, into `~/.cache/fencepost/streams` (or `$FENCEPOST_STREAMS`); tests that want them are skipped where
there are none. Nothing else here reaches out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.cluster.processes import ManagedProcess

LATEST = {
    "0.10.0.1": 1,
    "0.10.1.1": 2,
    "0.10.2.2": 2,
    "0.11.0.3": 2,
    "1.0.2": 2,
    "1.1.1": 2,
    "2.0.1": 3,
    "2.3.1": 4,
    "2.4.1": 5,
    "2.5.1": 6,
    "2.6.3": 8,
    "2.8.2": 9,
    "3.0.2": 10,
    "3.9.1": 11,
}
"""The newest metadata version of each release."""
APPLICATIONS = ("0.10.2.2", "0.11.0.3", "1.0.2", "1.1.1", "2.0.1", "2.1.1", "2.3.1")
"""Releases of which whole applications are run, too."""
_SLF4J = "1.7.36"
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy@jars"
_ITEM = """<artifactItem><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>
<outputDirectory>{folder}</outputDirectory></artifactItem>"""
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>fencepost</groupId><artifactId>streams</artifactId><version>1</version><build><plugins><plugin>
<groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId><version>3.6.1</version>
<executions><execution><id>jars</id><configuration><artifactItems>{0}</artifactItems></configuration></execution>
</executions></plugin></plugins></build></project>
"""
_APPLICATION_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>fencepost</groupId><artifactId>application</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-streams</artifactId><version>{0}</version></dependency>
<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>{1}</version></dependency>
</dependencies></project>
"""
_JAVA = ("java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def cache() -> Path:
    return Path(os.environ.get("FENCEPOST_STREAMS") or Path.home() / ".cache" / "fencepost" / "streams")


def missing() -> str:
    """What keeps real releases from being run; "" where they can be."""
    if shutil.which("javac") is None:
        return "no JDK: the bytes of real releases are not looked at"
    absent = [version for version in LATEST if not (cache() / version / f"kafka-streams-{version}.jar").exists()]
    if absent:
        return f"no jars of Kafka Streams {', '.join(absent)} (python -m tests.impl.streams.real_releases fetches them)"
    return ""


def application_jars(version: str) -> Path:
    """The folder of a release with all that an application needs."""
    return cache() / "applications" / version


def missing_applications() -> str:
    """What keeps whole applications from being run; "" where they can be."""
    if shutil.which("javac") is None:
        return "no JDK: no application of Kafka Streams is run"
    absent = [one for one in APPLICATIONS if not (application_jars(one) / f"kafka-streams-{one}.jar").exists()]
    if absent:
        return f"no jars of applications {', '.join(absent)} (python -m tests.impl.streams.real_releases fetches them)"
    return ""


class RealApplication:
    """A process of Kafka Streams that reads a topic. folder: of its classes, state, and what it prints."""

    def __init__(
        self, version: str, server: str, group: str, topic: str, session_ms: int, folder: Path, upgrade_from: str = ""
    ) -> None:
        classes = folder / "classes"
        if not (classes / "Application.class").exists():
            classes.mkdir(parents=True)
            source = Path(__file__).with_name("Application.java")
            with_jars = ["-cp", f"{application_jars(version)}/*"]
            subprocess.run(["javac", *with_jars, "-d", str(classes), str(source)], check=True, timeout=120)
        command = [*_JAVA, "-cp", f"{classes}:{application_jars(version)}/*", "Application"]
        state = folder / f"state of {version} in {group}"
        arguments = [server, group, topic, str(state), str(session_ms), *([upgrade_from] if upgrade_from else [])]
        log = folder / f"{version}{' from ' * bool(upgrade_from)}{upgrade_from} in {group}.log"
        self._process = ManagedProcess([*command, *arguments], log)

    def printed(self) -> str:
        return self._process.log.read_text(errors="replace")

    def end(self) -> str:
        """What it died of, or was refused for; "" while it runs."""
        said = [line for line in self.printed().splitlines() if line.startswith(("died of ", "refuses "))]
        return "; ".join(said) or ("it ended" if self._process.exit_code is not None else "")

    def has_joined(self) -> bool:
        """It has been through a rebalance: it says that it runs before the first one, too."""
        return "is RUNNING" in self.printed().partition("is REBALANCING")[2]

    def kill(self) -> None:
        self._process.kill()


def fetch() -> None:
    """Have Maven put the jars of all releases into the cache, and those that applications need."""
    items = [
        _ITEM.format(group=group, artifact=artifact, version=of or version, folder=cache() / version)
        for version in LATEST
        for group, artifact, of in (
            ("org.apache.kafka", "kafka-streams", ""),
            ("org.apache.kafka", "kafka-clients", ""),
            ("org.slf4j", "slf4j-api", _SLF4J),
        )
    ]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pom.xml").write_text(_POM.format("".join(items)))
        subprocess.run(["mvn", "-q", "-B", _PLUGIN], cwd=folder, check=True)
    for version in APPLICATIONS:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "pom.xml").write_text(_APPLICATION_POM.format(version, _SLF4J))
            to = f"-DoutputDirectory={application_jars(version)}"
            subprocess.run(["mvn", "-q", "-B", "dependency:copy-dependencies", to], cwd=folder, check=True)


def round_trips(version: str, lines: Iterable[tuple[str, bytes]], folder: Path) -> list[bytes | str]:
    """What a release writes once it has read each of these, or the exception that it throws.

    lines: SubscriptionInfo or AssignmentInfo, and user data. folder: for the compiled program, kept from run to run.
    """
    if not (folder / "RoundTrip.class").exists():
        source = Path(__file__).with_name("RoundTrip.java")
        subprocess.run(["javac", "-d", str(folder), str(source)], check=True, timeout=120)
    command = [*_JAVA, "-cp", f"{folder}:{cache() / version}/*", "RoundTrip"]
    text = "".join(f"{name} {data.hex()}\n" for name, data in lines)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=120)
    return [line if line.startswith("!") else bytes.fromhex(line) for line in done.stdout.splitlines()]


if __name__ == "__main__":
    fetch()
    print(f"{cache()}: {len(list(cache().glob('**/*.jar')))} jars")
