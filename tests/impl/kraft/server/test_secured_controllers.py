"""Three controllers that let each other in by TLS and logins, and none with another password or authority."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from tests.cluster.certificates import Authority
from tests.cluster.kafka import until
from tests.impl.kraft.server.controllers import VOTERS, Controllers
from tests.impl.kraft.server.secured import Refused, Wire, plain_module, voters_log_in


def said(cluster: Controllers, node: int, text: str) -> bool:
    return any(text in str(line) for line in cluster.log_of(node))


@pytest.mark.long("processes")
def test_controllers_that_know_each_other_are_a_quorum(tmp_path: Path) -> None:
    ours, theirs = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")
    cluster = Controllers(tmp_path, voters_log_in(ours.truststore, ours.keystore("node")))
    try:
        for node in VOTERS[:2]:
            cluster.start(node)
        leader = cluster.await_leader(VOTERS[:2])
        wrong = plain_module(("voter", "other"), {"voter": "v-secret"})
        cluster.configure(3, {"listener.name.controller.plain.sasl.jaas.config": wrong})
        cluster.start(3)
        until(lambda: said(cluster, 3, "the user or the password is not right"), "it is refused")
        assert cluster.processes[3].terminate() == 0
        right = plain_module(("voter", "v-secret"), {"voter": "v-secret"})
        cluster.configure(3, {
            "listener.name.controller.plain.sasl.jaas.config": right, "ssl.truststore.location": theirs.truststore,
        })  # fmt: skip
        cluster.start(3)
        until(lambda: said(cluster, 3, "CERTIFICATE_VERIFY_FAILED"), "it trusts nobody")
        assert cluster.processes[3].terminate() == 0
        cluster.configure(3, {"ssl.truststore.location": ours.truststore})
        cluster.start(3)
        assert cluster.await_leader() == leader
        cluster.await_growth(3)
        tls = ssl.create_default_context(cafile=ours.truststore)
        with Wire(cluster.ports[leader], tls) as wire:
            wire.log_in("PLAIN", "voter", "v-secret")
        with Wire(cluster.ports[leader], tls) as wire, pytest.raises(Refused):
            wire.log_in("PLAIN", "voter", "guess")
        assert not any("v-secret" in str(line) for node in VOTERS for line in cluster.log_of(node))
    finally:
        cluster.kill()
