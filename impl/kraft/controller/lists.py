"""The configs that are lists, with their defaults, as in Kafka 4.3: to these alone is appended (KIP-339)."""

from __future__ import annotations

from collections.abc import Mapping

from impl.kraft.records import BROKER_RESOURCE, TOPIC_RESOURCE

LISTS: Mapping[int, Mapping[str, str | None]] = {
    TOPIC_RESOURCE: {
        "cleanup.policy": "delete",
        "follower.replication.throttled.replicas": "",
        "leader.replication.throttled.replicas": "",
    },
    BROKER_RESOURCE: {
        "advertised.listeners": None,
        "config.providers": "",
        "controller.listener.names": None,
        "controller.quorum.bootstrap.servers": "",
        "controller.quorum.voters": "",
        "cordoned.log.dirs": "",
        "early.start.listeners": None,
        "group.consumer.assignors": "uniform,range",
        "group.coordinator.rebalance.protocols": "classic,consumer,streams",
        "group.share.assignors": "simple",
        "kafka.metrics.reporters": "",
        "listeners": "PLAINTEXT://:9092",
        "log.cleanup.policy": "delete",
        "log.dir": "/tmp/kafka-logs",
        "log.dirs": None,
        "metric.reporters": "org.apache.kafka.common.metrics.JmxReporter",
        "process.roles": None,
        "sasl.enabled.mechanisms": "GSSAPI",
        "sasl.kerberos.principal.to.local.rules": "DEFAULT",
        "sasl.oauthbearer.expected.audience": "",
        "ssl.cipher.suites": "",
        "ssl.enabled.protocols": "TLSv1.2,TLSv1.3",
    },
}
"""By type of resource; None: there is no default."""
