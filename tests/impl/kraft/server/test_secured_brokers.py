"""Brokers of ours with TLS, logins and ACLs, among themselves and towards controllers; users see what they may."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from impl.kraft.tools.cluster import main as cluster
from impl.kraft.tools.metadata_quorum import main as metadata_quorum
from impl.kraft.tools.shell.tool import main as shell
from tests.cluster.certificates import Authority
from tests.cluster.kafka import tool, until
from tests.impl.kraft.released import VERSION, released
from tests.impl.kraft.server.controllers import CLUSTER
from tests.impl.kraft.server.own_brokers import OwnBrokers, own_cluster
from tests.impl.kraft.server.secured import PLAIN_MODULE, plain_module, tls_settings
from tests.impl.kraft.tools.running import Tool

pytestmark = pytest.mark.long("five processes, and clients that take seconds to be imported")
SCRAM, TOPIC, PARTITIONS = "SCRAM-SHA-512", "orders", 2
USERS = {"node": "n-secret", "admin": "a-secret"}
"""Of PLAIN, super users. Those of SCRAM are made by the test, with names and passwords that are the same."""
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
VALUES = {b"%d" % number for number in range(50)}


class Place(NamedTuple):
    brokers: OwnBrokers
    truststore: Path

    def confluent(self, user: str, more: Mapping[str, Any] | None = None, mechanism: str = SCRAM) -> dict[str, Any]:
        """Options of librdkafka."""
        return {
            "bootstrap.servers": self.brokers.addresses, "security.protocol": "SASL_SSL", "sasl.mechanism": mechanism,
            "sasl.username": user, "sasl.password": USERS.get(user, user), "ssl.ca.location": str(self.truststore),
            "log_level": 0, **(more or {}),
        }  # fmt: skip

    def python(self, user: str, password: str = "") -> dict[str, Any]:
        """Options of kafka-python and aiokafka."""
        return {
            "bootstrap_servers": self.brokers.addresses, "security_protocol": "SASL_SSL", "sasl_mechanism": SCRAM,
            "sasl_plain_username": user, "sasl_plain_password": password or user,
            "ssl_context": ssl.create_default_context(cafile=str(self.truststore)),
        }  # fmt: skip

    def client(self, folder: Path, user: str, password: str = "") -> Path:
        """A configuration of Kafka's tools, and ours. Super users log in with PLAIN, the others with SCRAM."""
        mechanism, module = ("PLAIN", PLAIN_MODULE) if user in USERS else (SCRAM, SCRAM_MODULE)
        login = f'{module} required username="{user}" password="{password or USERS.get(user, user)}";'
        path = folder / f"{user}.properties"
        path.write_text(
            f"security.protocol=SASL_SSL\nsasl.mechanism={mechanism}\nsasl.jaas.config={login}\n"
            f"ssl.truststore.type=PEM\nssl.truststore.location={self.truststore}\n"
        )
        return path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("secured")
    authority = Authority(folder / "authority")
    module = plain_module(("node", USERS["node"]), USERS)
    settings = {
        "listener.security.protocol.map": "CONTROLLER:SASL_SSL,OUTSIDE:SASL_SSL",
        "sasl.enabled.mechanisms": f"PLAIN,{SCRAM}",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": module,
        "listener.name.outside.plain.sasl.jaas.config": module,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:node;User:admin",
        **tls_settings(authority.keystore("node"), authority.truststore),
    }
    with own_cluster(folder, settings, (11, 12), "OUTSIDE", ("-r", "3.5-IV2")) as brokers:
        found = Place(brokers, authority.truststore)
        administer(found)
        yield found


def administer(place: Place) -> None:
    """Users, a topic on both brokers, and what ann may do with it: all of it by brokers, which forward it."""
    import confluent_kafka.admin
    from confluent_kafka.cimpl import NewTopic

    api: Any = confluent_kafka.admin  # its types have no names for what it takes from elsewhere
    admin = api.AdminClient(place.confluent("admin", mechanism="PLAIN"))
    info = api.ScramCredentialInfo(api.ScramMechanism.SCRAM_SHA_512, 4096)
    made = [api.UserScramCredentialUpsertion(user, info, user.encode()) for user in ("ann", "bob")]
    for user in admin.alter_user_scram_credentials(made).values():
        user.result(60)
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 2)])[TOPIC].result(60)
    of_topic = (api.ResourceType.TOPIC, TOPIC, api.ResourcePatternType.LITERAL, "User:ann", "*")
    operations = (api.AclOperation.READ, api.AclOperation.WRITE)
    acls = [api.AclBinding(*of_topic, operation, api.AclPermissionType.ALLOW) for operation in operations]
    for acl in admin.create_acls(acls).values():
        acl.result(60)
    of_ann = api.AclBindingFilter(*of_topic, api.AclOperation.ANY, api.AclPermissionType.ANY)
    until(lambda: len(admin.describe_acls(of_ann).result(60)) == 2, "the brokers know the ACLs")


def test_confluent_kafka(place: Place) -> None:
    from confluent_kafka import Consumer, Producer, TopicPartition

    errors: list[Any] = []
    producer = Producer(place.confluent("ann", {"enable.idempotence": True}))
    for value in VALUES:
        producer.produce(TOPIC, value, on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(60) == 0 and errors == [None] * len(VALUES)
    consumer = Consumer(place.confluent("ann", {"group.id": "none", "enable.auto.commit": False}))
    consumer.assign([TopicPartition(TOPIC, number, 0) for number in range(PARTITIONS)])
    found: set[bytes | None] = set()

    def has_all() -> bool:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            found.add(message.value())
        return found >= VALUES

    until(has_all, "all records are read")
    consumer.close()


def test_kafka_python(place: Place) -> None:
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition

    producer = KafkaProducer(acks="all", **place.python("ann"))
    for value in VALUES:
        producer.send(TOPIC, value)
    producer.flush()
    producer.close()
    consumer = KafkaConsumer(auto_offset_reset="earliest", consumer_timeout_ms=60_000, **place.python("ann"))
    consumer.assign([TopicPartition(TOPIC, number) for number in range(PARTITIONS)])
    found = set[bytes]()
    for record in consumer:
        found.add(record.value)
        if found >= VALUES:
            break
    consumer.close()
    assert found >= VALUES


def test_aiokafka_and_who_may_not(place: Place) -> None:
    """bob has logged in, and may nothing; a wrong password is nobody's."""
    from aiokafka import AIOKafkaProducer
    from aiokafka.errors import KafkaError, TopicAuthorizationFailedError

    async def send(user: str, password: str = "") -> None:
        producer = AIOKafkaProducer(**place.python(user, password))
        try:
            await producer.start()
            await producer.send_and_wait(TOPIC, b"0")
        finally:
            await producer.stop()

    async def run() -> None:
        await send("ann")
        with pytest.raises(TopicAuthorizationFailedError):
            await send("bob")
        with pytest.raises(KafkaError):
            await send("ann", "guess")

    asyncio.run(asyncio.wait_for(run(), 180))


def test_who_may_not_alter_is_refused_by_the_controller(place: Place) -> None:
    """The envelope says who the client is: what a broker may do counts for nothing."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient(place.confluent("ann"))
    with pytest.raises(KafkaException, match=r"(TOPIC|CLUSTER)_AUTHORIZATION_FAILED"):
        admin.create_topics([NewTopic("mine", 1, 1)])["mine"].result(60)
    with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
        admin.delete_topics([TOPIC])[TOPIC].result(60)


@released
def test_the_tools_of_kafka(place: Place, tmp_path: Path) -> None:
    """`kafka-acls` lists and alters what is the log's, `kafka-topics` shows who asks what they may see."""

    address = ("--bootstrap-server", place.brokers.addresses, "--command-config")
    as_admin, as_ann = place.client(tmp_path, "admin"), place.client(tmp_path, "ann")

    def topics(who: Path) -> set[str]:
        return set(tool(VERSION, "org.apache.kafka.tools.TopicCommand", *address, who, "--list").split())

    def acls(*arguments: str) -> str:
        return tool(VERSION, "org.apache.kafka.tools.AclCommand", *address, as_admin, *arguments)

    tool(VERSION, "org.apache.kafka.tools.TopicCommand", *address, as_admin, "--create", "--topic", "secret")
    until(lambda: topics(as_admin) == {TOPIC, "secret"}, "a super user sees both")
    assert topics(as_ann) == {TOPIC}
    described = ("--topic", "secret", "--allow-principal", "User:ann", "--operation", "Describe")
    acls("--add", *described)
    until(lambda: topics(as_ann) == {TOPIC, "secret"}, "ann sees it, too")
    assert "(principal=User:ann, host=*, operation=DESCRIBE, permissionType=ALLOW)" in acls(
        "--list", "--topic", "secret"
    )
    acls("--remove", "--force", *described)
    until(lambda: topics(as_ann) == {TOPIC}, "ann does not any more")


def test_the_tools_of_ours(place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By brokers and controllers; who may not is told so, and a wrong password once, by the first of all nodes."""
    brokers, controllers = place.brokers.addresses, ",".join(
        f"127.0.0.1:{port}" for port in place.brokers.controllers.ports.values()
    )  # fmt: skip
    as_admin, as_bob = (str(place.client(tmp_path, user)) for user in ("admin", "bob"))
    assert Tool(cluster)(capsys, "cluster-id", "-b", brokers, "-c", as_admin) == (0, [f"Cluster ID: {CLUSTER}"], "")
    for option, nodes in (("--bootstrap-server", brokers), ("--bootstrap-controller", controllers)):
        asked = (option, nodes, "--command-config", as_admin, "describe", "--status")
        code, lines, _ = Tool(metadata_quorum)(capsys, *asked)
        assert code == 0 and any("CurrentVoters" in line for line in lines)
    code, lines, error = Tool(shell)(capsys, "-C", controllers, "-c", as_admin, "ls", "/image/topics/byName")
    assert code == 0 and any(TOPIC in line for line in lines), error
    code, _, error = Tool(cluster)(capsys, "unregister", "-b", brokers, "-c", as_bob, "-i", "11")
    assert code == 1 and "CLUSTER_AUTHORIZATION_FAILED" in error
    wrong = str(place.client(tmp_path, "bob", "wrong"))
    code, _, error = Tool(cluster)(capsys, "cluster-id", "-b", brokers, "-c", wrong)
    assert code == 1 and "wrong" not in error and "uthentication failed" in error


def test_no_secret_is_logged(place: Place) -> None:
    text = str([place.brokers.lines_of(node) for node in place.brokers.nodes])
    assert not any(secret in text for secret in USERS.values())
