"""Conformance of Apache Kafka's released controller, and of its brokers' lifecycles, to the specification of KIP-631.

`fencepost conform kraft/MODEL --impl apache-kafka-lifecycle:4.3.1 --setting kafka_4_3_lifecycle`
"""

from impl.adapters.apache_kafka.system import ApacheUnderTest, WithLifecycles
from impl.apache.errors import ApacheError
from impl.apache.release import numbers

FIRST = (4, 3)
"""The first release whose lifecycle is driven: before, it is another class, in Scala."""


def system_of(version: str) -> ApacheUnderTest:
    """The system with controllers and lifecycles of a release, or of a build. Raises ApacheError."""
    system = ApacheUnderTest(WithLifecycles(version))
    if numbers(version) < FIRST:
        raise ApacheError(
            f"lifecycles of brokers are driven from 4.3 on, not of {version}: apache-kafka:{version} is its controller"
        )
    return system


__all__ = ["system_of"]
