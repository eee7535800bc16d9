"""The transaction log of a real server says what was done, and not what was refused."""

from __future__ import annotations

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError

from impl.zookeeper.transaction_log import Change, read_logs
from tests.cluster.zookeeper import Ensemble
from tests.impl.zookeeper.real import chroot

pytestmark = pytest.mark.xdist_group("zookeeper")


def test_a_multi_that_is_refused_has_changed_nothing(server: Ensemble) -> None:
    """ZooKeeper logs it all the same, with those parts of it that would have been done."""
    root = chroot(server.hosts).partition("/")[2]
    client = KazooClient(server.hosts)
    client.start()
    try:
        for version in (7, 0):
            multi = client.transaction()
            multi.create(f"/{root}/made", b"1")
            multi.check(f"/{root}", version)
            multi.set_data(f"/{root}", b"2", version)
            results = multi.commit()
            assert any(isinstance(one, BadVersionError) for one in results) == (version == 7)
        zxid = client.last_zxid
    finally:
        client.stop()
        client.close()
    log = [one for one in read_logs(server.servers[0].log_folder) if any(root in change.path for change in one.changes)]
    assert [one.changes for one in log[1:]] == [
        (Change(f"/{root}/made", b"1", is_create=True), Change(f"/{root}", b"2")),
    ]
    assert log[-1].zxid == zxid
