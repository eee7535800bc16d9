"""Conformance of Apache Kafka's released controller to the specification of KIP-631.

`fencepost conform kraft/MODEL --impl apache-kafka:4.3.1`
"""

from impl.adapters.apache_kafka.system import system_of

__all__ = ["system_of"]
