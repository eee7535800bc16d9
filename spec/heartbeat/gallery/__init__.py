"""Bugs of KIP-343, and of what Kafka shipped in its stead, each with the guard that repairs it."""

from spec.heartbeat.gallery import kafka, leases, requests

BUGS = [*leases.BUGS, *requests.BUGS, *kafka.BUGS]
