"""The end of a session from outside, as if its client had been silent for too long."""

from __future__ import annotations

from kazoo.client import KazooClient

from impl.zookeeper.client import Session


def expire(hosts: str, session: Session, timeout_s: float = 10.0) -> None:
    """Take a session over with its id and password, and close it: its first client hears that it expired."""
    thief = KazooClient(hosts, timeout=4.0, client_id=(session.id, session.password))
    thief.start(timeout=timeout_s)
    thief.stop()
    thief.close()
