"""kafka-storage: formatting, info, exit codes; help beside the document's; the same directories with Kafka's tool."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from difflib import ndiff
from pathlib import Path

import pytest

from impl.kraft.metadata.encoding import decode
from impl.kraft.metadata.json_form import payload_json
from impl.kraft.storage.directories import read_bootstrap, read_directories
from impl.kraft.storage.real_disk import RealDisk
from impl.kraft.tools.storage import main
from tests.impl.kraft.released import java, released
from tests.impl.kraft.tools.running import Tool

run = Tool(main)
CLUSTER, OTHER = "3Db5QLSqSZieL3rJBUUegA", "AAAAAAAAAAAAAAAAAAAAAQ"
DRAFT = Path(__file__).parent / "draft"
SCRAM = 'SCRAM-SHA-512=[name=alice,iterations=8192,salt="N3E=",password=alice-secret]'
SALTED = 'SCRAM-SHA-256=[name=bob,iterations=4096,salt="N3E=",saltedpassword="YCE="]'


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "server.properties"
    path.write_text(
        "process.roles=controller\nnode.id=1\ncontroller.quorum.voters=1@localhost:9093\n"
        "controller.listener.names=CONTROLLER\nlisteners=CONTROLLER://localhost:9093\n"
        f"log.dirs={tmp_path}/b,{tmp_path}/c\nmetadata.log.dir={tmp_path}/a\n"
    )
    return str(path)


def kafkas(*arguments: str) -> tuple[int, list[str]]:
    done = java("kafka.tools.StorageTool", *arguments)
    return done.returncode, done.stdout.splitlines()


def bootstrap(directory: Path) -> list[str]:
    return [payload_json(decode(one.value or b"")) for one in read_bootstrap(RealDisk(), str(directory))]


def test_directories_are_formatted_once(config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ("format", "-c", config, "-t", CLUSTER)
    code, lines, _ = run(capsys, *command)
    assert (code, lines) == (0, [
        f"Formatting metadata directory {tmp_path}/a with metadata.version 3.3-IV3.",
        f"Formatting data directory {tmp_path}/b with metadata.version 3.3-IV3.",
        f"Formatting data directory {tmp_path}/c with metadata.version 3.3-IV3.",
    ])  # fmt: skip
    made = read_directories(RealDisk(), [f"{tmp_path}/{name}" for name in "abc"], 1)
    assert {one.cluster_id for one in made.values()} == {CLUSTER} and len({*made.values()}) == 3
    assert bootstrap(tmp_path / "a") == [
        '{"type":"FEATURE_LEVEL_RECORD","version":0,"data":{"name":"metadata.version","featureLevel":7}}'
    ]
    assert run(capsys, *command) == (1, [], (
        f"Log directory {tmp_path}/a is already formatted. Use --ignore-formatted to ignore this directory and format "
        "the others.\n"
    ))  # fmt: skip
    assert run(capsys, *command, "-g") == (0, ["All of the log directories are already formatted."], "")


def test_some_that_are_formatted_may_be_ignored(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("format", "--config", config, "--cluster-id", CLUSTER)
    run(capsys, *command)
    before = (tmp_path / "b" / "meta.properties").read_bytes()
    (tmp_path / "c" / "meta.properties").unlink()
    assert run(capsys, *command)[0] == 1 and not (tmp_path / "c" / "meta.properties").exists()
    code, lines, _ = run(capsys, *command, "--ignore-formatted")
    assert (code, len(lines)) == (0, 1) and "/c with" in lines[0]
    assert (tmp_path / "b" / "meta.properties").read_bytes() == before


def test_a_directory_of_another_cluster_is_refused(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "format", "-c", config, "-t", OTHER)
    code, _, error = run(capsys, "format", "-g", "-c", config, "-t", CLUSTER)
    path = tmp_path / "a" / "meta.properties"
    assert (code, error) == (1, f"Invalid cluster.id in: {path}. Expected {CLUSTER}, but read {OTHER}\n")


def test_info_of_each_kind_of_directory(config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problems = [f"  {tmp_path}/{name} does not exist" for name in "abc"]
    assert run(capsys, "info", "-c", config) == (1, ["Found problems:", *problems, ""], "")
    run(capsys, "format", "-c", config, "-t", CLUSTER)
    code, lines, _ = run(capsys, "info", "-c", config)
    assert code == 0 and lines[:5] == ["Found log directories:", *(f"  {tmp_path}/{name}" for name in "abc"), ""]
    assert re.fullmatch(
        rf"Found metadata: {{cluster.id={CLUSTER}, directory.id=[\w-]{{22}}, node.id=1, version=1}}", lines[5]
    )
    assert lines[6:] == [""]
    (tmp_path / "c" / "meta.properties").unlink()
    code, lines, _ = run(capsys, "info", "-c", config)
    assert code == 1 and lines[7:] == ["Found problem:", f"  {tmp_path}/c is not formatted.", ""]


def test_info_of_directories_that_contradict(config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "format", "-c", config, "-t", CLUSTER)
    for name, old, new in (("b", CLUSTER, OTHER), ("c", "node.id=1", "node.id=2")):
        path = tmp_path / name / "meta.properties"
        path.write_text(path.read_text().replace(old, new))
    code, lines, _ = run(capsys, "info", "-c", config)
    assert code == 1 and lines[7:] == [
        "Found problems:",
        f"  {tmp_path}/c is of node.id 2, and this node is 1",
        f"  the log directories are of several clusters: {CLUSTER} in {tmp_path}/c, {OTHER} in {tmp_path}/b",
        "",
    ]


def test_random_uuids(capsys: pytest.CaptureFixture[str]) -> None:
    found = {run(capsys, "random-uuid")[1][0] for _ in range(300)}
    assert len(found) == 300
    assert all(len(one) == 22 and len(urlsafe_b64decode(f"{one}==")) == 16 and one[0] != "-" for one in found)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("-t", "bad"), "cluster id 'bad' is not the base64 of 16 bytes"),
        (("-t", CLUSTER, "-r", "3.0"), "3.0 is no release from 3.3-IV3 to 3.7-IV4"),
        (("-t", CLUSTER, "-f", "metadata.version=30"), "metadata.version=30: 7 to 19"),
        (("-t", CLUSTER, "-f", "metadata.version=8", "-r", "3.5"), "not both"),
        (("-t", CLUSTER, "-f", "kraft.version=1"), "kraft.version=1: only level 0 is supported"),
        (("-t", CLUSTER, "-f", "x=0"), "x is no feature"),
        (("-t", CLUSTER, "-f", "x"), "FEATURE=LEVEL is expected"),
        (("-t", CLUSTER, "-S", SCRAM), "SCRAM is only supported in metadata.version 3.5-IV2 or later"),
        *[
            (("-t", CLUSTER, "-r", "3.5", "-S", credential), says)
            for credential, says in [
                ("PLAIN=[name=a,password=secret]", "a credential is SCRAM-SHA-256 or SCRAM-SHA-512="),
                ("SCRAM-SHA-256=[password=secret]", "a credential has a name"),
                ("SCRAM-SHA-256=[name=a]", "either a password or a saltedpassword"),
                ("SCRAM-SHA-256=[name=a,saltedpassword=YCE=]", "needs its salt"),
                ("SCRAM-SHA-256=[name=a,password=secret,iterations=100]", "4096 to 16384"),
                ("SCRAM-SHA-256=[name=a,password=secret,salt=?]", "salt is not base64"),
            ]
        ],
    ],
)
def test_what_cannot_be_formatted(
    options: tuple[str, ...], says: str, config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written, and no message repeats a password."""
    code, lines, error = run(capsys, "format", "-c", config, *options)
    assert (code, lines) == (2, []) and says in error and "secret" not in error
    assert not (tmp_path / "a").exists()


def test_all_problems_of_a_configuration_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "server.properties"
    path.write_text("process.roles=controller\nnode.id=x\nbroker.id=1\n")
    code, _, error = run(capsys, "info", "-c", str(path))
    assert code == 2 and error.splitlines()[:2] == [
        f"{path}:2: node.id=x: a whole number from 0 to 2147483647 is expected",
        f"{path}:3: broker.id: node.id replaces it",
    ]
    assert len(error.splitlines()) == 6


@pytest.mark.parametrize("arguments", [(), ("info",), ("format", "-t", CLUSTER), ("other",)])
def test_a_wrong_usage(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code, lines, error = run(capsys, *arguments)
    assert (code, lines) == (2, []) and error.startswith("usage: kafka-storage") and "error: " in error


ADDED = {
    "": ["", "Exit codes: 0 done, 1 a directory has a problem, 2 usage or configuration."],
    "info": [],
    "format": [
        "                     [--add-scram ADD_SCRAM] [--release-version RELEASE_VERSION] [--feature FEATURE]",
        "                         Skip over already formatted directories rather than failing.",
        "  --add-scram ADD_SCRAM, -S ADD_SCRAM",
        "                         A SCRAM credential for the metadata log, as",
        "                         'SCRAM-SHA-256=[name=alice,password=alice-secret]' or",
        '                         \'SCRAM-SHA-512=[name=alice,iterations=8192,salt="N3E=",saltedpassword="YCE="]\'.',
        "                         Needs release 3.5-IV2. May be given several times.",
        "  --release-version RELEASE_VERSION, -r RELEASE_VERSION",
        "                         The release of the initial metadata.version: 3.3-IV3, the default, to 3.7-IV4.",
        "  --feature FEATURE, -f FEATURE",
        "                         The initial level of a feature, as metadata.version=11. Others are 0 here.",
    ],
    "random-uuid": [],
}


@pytest.mark.parametrize("command", ["", "info", "format", "random-uuid"])
def test_the_help_is_that_of_the_document(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Line for line, but for what `ADDED` lists: the options that Kafka added, and the exit codes."""
    code, lines, _ = run(capsys, *filter(None, [command]), "-h")
    drafts = (DRAFT / f"kafka-storage{command and '-'}{command}.txt").read_text().splitlines()
    differs = [line for line in ndiff(drafts, lines) if line[0] in "+-"]
    assert code == 0 and differs == [f"+ {line}" for line in ADDED[command]]


@released
@pytest.mark.sample(1)
@pytest.mark.parametrize("options", [(), ("-r", "3.4"), ("-r", "3.6-IV2", "-S", SCRAM, "-S", SALTED)], ids=str)
def test_kafka_formats_in_the_same_way(
    options: tuple[str, ...], config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same records; and each tool says the same of what the other formatted."""
    said = []
    for ours in (True, False):
        command = ("format", "-c", config, "-t", CLUSTER, *(options or ("-r", "3.3-IV3")))
        code = run(capsys, *command)[0] if ours else kafkas(*command)[0]
        assert code == 0
        assert run(capsys, "info", "-c", config)[:2] == kafkas("info", "-c", config)
        said.append([bootstrap(tmp_path / name) for name in "abc"])
        for name in "abc":
            (tmp_path / name / "meta.properties").unlink()
    assert said[0] == said[1] and len(said[0][0]) == 1 + options.count("-S")
    assert run(capsys, "info", "-c", config)[:2] == kafkas("info", "-c", config)
