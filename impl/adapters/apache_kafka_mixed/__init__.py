"""Conformance of quorums that mix Apache Kafka's released controllers with those of `impl.kraft` to the specification.

`fencepost conform kraft/elections_end --impl apache-kafka-mixed:4.3.1 --setting kafka_4_3_controller`
"""

from impl.adapters.apache_kafka.system import ApacheUnderTest, MixedCore


def system_of(version: str) -> ApacheUnderTest:
    """The system with every second controller of a release, or of a build. Raises ApacheError."""
    return ApacheUnderTest(MixedCore(version))


__all__ = ["system_of"]
