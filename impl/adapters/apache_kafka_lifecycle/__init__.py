"""Conformance of Apache Kafka's released controller, and of its brokers' lifecycles, to the specification of KIP-631.

`fencepost conform kraft/MODEL --impl apache-kafka-lifecycle:4.3.1 --setting kafka_4_3_lifecycle`
"""

from impl.adapters.apache_kafka.system import ApacheUnderTest, WithLifecycles


def system_of(version: str) -> ApacheUnderTest:
    """The system with controllers and lifecycles of a release, or of a build. Raises ApacheError."""
    return ApacheUnderTest(WithLifecycles(version))


__all__ = ["system_of"]
