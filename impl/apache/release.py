"""Releases of Apache Kafka: jars that Maven puts into a cache, and the classes of `java` compiled against them.

    python -m impl.apache.release 4.3.1

fetches them, once, into `~/.cache/fencepost/kafka` (or `$FENCEPOST_KAFKA`). Nothing else here reaches out.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from impl.apache.errors import ApacheError

SOURCES = Path(__file__).parent / "java"
OF_RELEASES = Path(__file__).parent / "releases"
"""What differs: of each file the one in the newest folder that is not newer than the release."""
RENAMED = (
    ((4, 0), "org.apache.kafka.server.common.NodeToController", "org.apache.kafka.server.NodeToController"),
    ((4, 0), "org.apache.kafka.server.common.ControllerRequest", "org.apache.kafka.server.ControllerRequest"),
    ((4, 0), "defaultSupportedFeatureMap", "defaultFeatureMap"),
    ((4, 1), "org.apache.kafka.server.common.OffsetAndEpoch", "org.apache.kafka.raft.OffsetAndEpoch"),
    ((4, 2), "org.apache.kafka.server.partition.AlterPartitionListener", "kafka.cluster.AlterPartitionListener"),
    ((4, 3), "org.apache.kafka.common.record.internal", "org.apache.kafka.common.record"),
    ((4, 3), "RaftLog ", "ReplicatedLog "),
    ((4, 3), "org.apache.kafka.metadata.KRaftMetadataCache", "kafka.server.metadata.KRaftMetadataCache"),
    ((4, 4), "org.apache.kafka.common.utils.internals.LogContext", "org.apache.kafka.common.utils.LogContext"),
    ((4, 4), "org.apache.kafka.server.partition.AlterPartitionManager", "kafka.server.AlterPartitionManager"),
    ((4, 4), "org.apache.kafka.server.partition.DefaultAlter", "kafka.server.DefaultAlter"),
    ((4, 4), "org.apache.kafka.server.quota.ReplicaQuota", "kafka.server.ReplicaQuota"),
)
"""Since which release the sources' names are Kafka's, and what releases before it say instead."""
SERVER = "fencepost.Server"
"""Of the product; `impl.apache.voters` has that of simulations."""
SHADOWING = ("org/apache/kafka/queue/KafkaEventQueue.java",)
"""Stands in the place of a class of the release."""
EXPORTS = ("--add-exports", "java.base/jdk.internal.misc=ALL-UNNAMED")
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>fencepost</groupId><artifactId>kafka</artifactId><version>1</version><dependencies>
{dependencies}
<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-reload4j</artifactId><version>1.7.36</version></dependency>
</dependencies></project>
"""
_DEPENDENCY = """<dependency><groupId>org.apache.kafka</groupId>
<artifactId>{artifact}</artifactId><version>{version}</version></dependency>"""
_NEEDED = ("kafka_2.13", "kafka-tools")
_SHELL = "kafka-shell"
"""Of the metadata shell alone, which a test asks; where a release's is not to be had, the rest is of use without."""


RELEASED = re.compile(r"\d+(\.\d+)+")


def cache() -> Path:
    return Path(os.environ.get("FENCEPOST_KAFKA") or Path.home() / ".cache" / "fencepost" / "kafka")


def jars(version: str) -> Path:
    """The folder in which the jars of a version are, or would be; or the folder that is named in its place."""
    return cache() / version if RELEASED.fullmatch(version) else Path(version)


def has_jars(version: str) -> bool:
    return any(jars(version).glob("kafka_*.jar"))


def missing(version: str, commands: Sequence[str] = ("java", "javac")) -> str:
    """What keeps a release from being run, or compiled against; "" where it can be.

    version: or a folder with the jars of a build. commands: that are needed.
    """
    is_release = RELEASED.fullmatch(version) is not None
    if not is_release and not Path(version).is_dir():
        return f"{version!r} is no version of Apache Kafka, and no folder with the jars of a build"
    for command in commands:
        if shutil.which(command) is None:
            return f"there is no {command}: install a JDK of Java 17 or newer"
    if not has_jars(version) and not is_release:
        return f"there is no kafka_2.13-*.jar in {version}: name the folder libs of a build of Apache Kafka"
    if not has_jars(version):
        return f"there are no jars of Apache Kafka {version} (python -m impl.apache.release {version} fetches them)"
    return ""


def fetch(version: str) -> None:
    """Have Maven put the jars of a version into the cache. Raises ApacheError."""
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder) / "jars"
        _copy(version, _NEEDED, copied)
        try:
            _copy(version, (_SHELL,), copied)
        except ApacheError as error:
            print(f"without {_SHELL}: {error}", file=sys.stderr)
        jars(version).parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(copied, jars(version), dirs_exist_ok=True)


def _copy(version: str, artifacts: Sequence[str], into: Path) -> None:
    """Jars of Apache Kafka, and all that they need. Raises ApacheError."""
    asked = "\n".join(_DEPENDENCY.format(artifact=one, version=version) for one in artifacts)
    (into.parent / "pom.xml").write_text(_POM.format(dependencies=asked))
    command = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={into}"]
    done = subprocess.run(command, cwd=into.parent, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        why = next((line for line in done.stdout.splitlines() if "ERROR" in line), "it does not say why")
        raise ApacheError(f"Maven does not fetch {', '.join(artifacts)} of Apache Kafka {version}: {why}")


def numbers(version: str) -> tuple[int, ...]:
    """Of a version; of a folder, those that its jar of the server has in its name."""
    if RELEASED.fullmatch(version) is None:
        names = [re.match(r"kafka_[\d.]+-(\d+(\.\d+)+)", jar.name) for jar in sorted(jars(version).glob("kafka_*.jar"))]
        version = next((name[1] for name in names if name), "")
        if not version:
            raise ApacheError("no jar called kafka_2.13-VERSION.jar tells which release this is")
    return tuple(map(int, version.split(".")))


def sources(version: str) -> list[tuple[Path, str]]:
    """What is compiled against a release: by its place among the sources, a text with the names of that release."""
    found = {source.relative_to(SOURCES): source for source in SOURCES.rglob("*.java")}
    since = sorted(OF_RELEASES.iterdir(), key=lambda folder: numbers(folder.name))
    for folder in since:
        if numbers(folder.name) <= numbers(version):
            found |= {source.relative_to(folder): source for source in folder.rglob("*.java")}
    return [(place, named(source.read_text(), numbers(version))) for place, source in sorted(found.items())]


def named(text: str, release: tuple[int, ...]) -> str:
    """A source with the names of a release."""
    for since, name, before in RENAMED:
        if release < since:
            text = text.replace(name, before)
    return text


def classes(version: str, main: str = SERVER) -> Path:
    """The folder of the compiled classes of `java`, which are compiled where they are not. Raises ApacheError.

    main: the class that is run. What it does not need is left out: a release may have that in another form.
    """
    why = missing(version)
    if why:
        raise ApacheError(why)
    files = sources(version)
    digest = hashlib.sha256((main + "".join(text for _, text in files)).encode())
    into = jars(version)
    if RELEASED.fullmatch(version) is None:  # a build is its owner's, and changes
        into = cache() / "builds"
        into.mkdir(parents=True, exist_ok=True)
        for jar in sorted(jars(version).glob("*.jar")):
            digest.update(f"{jar.resolve()} {jar.stat().st_size} {jar.stat().st_mtime_ns}".encode())
    made = into / f"fencepost-{digest.hexdigest()[:16]}"
    if not made.exists():
        with tempfile.TemporaryDirectory(dir=into) as folder:
            for place, text in files:
                (Path(folder) / place).parent.mkdir(parents=True, exist_ok=True)
                (Path(folder) / place).write_text(text)
            path = ("-cp", f"{jars(version).resolve()}/*", "-sourcepath", ".", "-Xprefer:source", "-implicit:class")
            roots = [f"{main.replace('.', '/')}.java", *SHADOWING]
            command = ["javac", "-nowarn", *EXPORTS, *path, "-d", "classes", *roots]
            done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
            if done.returncode != 0:
                raise ApacheError(f"{SOURCES} does not compile against Apache Kafka {version}:\n{done.stderr}")
            try:
                Path(folder, "classes").rename(made)
            except OSError:  # another process was faster
                if not made.exists():
                    raise
    return made


def main(versions: Sequence[str]) -> None:
    for version in versions:
        if RELEASED.fullmatch(version) is None:
            sys.exit(f"{version!r} is no version of Apache Kafka")
        try:
            fetch(version)
        except ApacheError as error:
            sys.exit(str(error))
        print(f"{jars(version)}: {len(list(jars(version).glob('*.jar')))} jars")


if __name__ == "__main__":
    main(sys.argv[1:])
