"""Steps of what operators meet: legacy leaders, upgrades, two controllers, a ZooKeeper that lags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from checker.conform.system import Refusal
from impl.adapters.heartbeat.cluster import (
    NOW_MS,
    PARTITION,
    Cluster,
    by_broker,
    by_controller,
    copied,
    core_of,
    do_work,
    goes_to,
    heard,
)
from impl.adapters.heartbeat.steps import elected, end_session, stopped, succeeded
from impl.heartbeat.broker import Work
from impl.heartbeat.znodes import CONTROLLER
from impl.zookeeper import Connected, Expired

Arguments = Mapping[str, Any]


def write_isr(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    """A legacy leader writes its ISR. Where the reply is lost, it has another connection, and finds its own znode."""
    process = arguments["process"].index
    core = copied(core_of(cluster.processes[process]))
    if not core.legacy.wanted:
        return Refusal("it wants no other ISR")
    is_lost = not arguments["answered"]
    done = by_broker(cluster, process, core, core.advance(NOW_MS, Work.CHANGE_ISR), loses_reply=is_lost)
    return do_work(done, process, Work.REGISTER) if is_lost else heard(done)


def reread_isr(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    return write_isr(cluster, {**arguments, "answered": True})


def reread_partition(cluster: Cluster, arguments: Arguments) -> Cluster:
    """What a controller does once a write of it was refused."""
    controller = arguments["controller"].index
    core = copied(cluster.controllers[controller].core)
    core.scripts.begin(core.leaderships.reread([PARTITION]))
    return heard(by_controller(cluster, controller, core, core.context.taken())[0])


def roll(cluster: Cluster, arguments: Arguments) -> Cluster:
    process = arguments["process"].index
    session, is_alive = cluster.zookeeper.clients[process].session, cluster.lives(process)
    done = stopped(cluster, process, keeps_disk=True)
    left = done.processes[process]
    done = done.with_process(process, replace(left, software=left.software + 1))
    return end_session(done, session) if is_alive else done


def roll_controller(cluster: Cluster, arguments: Arguments) -> Cluster:
    controller = arguments["controller"].index
    return succeeded(cluster, controller, cluster.controllers[controller].software + 1)


def expire_controller_session(cluster: Cluster, arguments: Arguments) -> Cluster:
    """The client of the controller in office has another session at once, and its core has yet to hear of that."""
    zookeeper = cluster.zookeeper
    owner = zookeeper.tree[CONTROLLER].stat.owner
    (client,) = (number for number, one in enumerate(zookeeper.clients) if one.session == owner)
    zookeeper = zookeeper.expire(owner).crash(client).open_session(client)
    _, zookeeper = zookeeper.deliver(client)
    return heard(replace(cluster, zookeeper=zookeeper))


def hear_of_expiry(cluster: Cluster, arguments: Arguments) -> Cluster:
    controller = arguments["controller"].index
    core = copied(cluster.controllers[controller].core)
    return heard(by_controller(cluster, controller, core, core.on_event(Expired(), NOW_MS))[0])


def take_office(cluster: Cluster, arguments: Arguments) -> Cluster:
    """With the session that its client has by now. The lease of who was answered before is over no later."""
    controller = arguments["controller"].index
    client = cluster.client_of(controller)
    if not cluster.zookeeper.clients[client].session:
        cluster = replace(cluster, zookeeper=cluster.zookeeper.open_session(client))
    else:
        core = copied(cluster.controllers[controller].core)
        connected = Connected(cluster.zookeeper.clients[client].session, True, cluster.zookeeper.timeout_ms)
        cluster, _ = by_controller(cluster, controller, core, core.on_event(connected, NOW_MS))
    cluster = elected(cluster, controller)
    for process, host in enumerate(cluster.processes):
        if host.reply is not None and cluster.design.lease_begins_anew:
            cluster = cluster.with_process(process, replace(host, reply=host.reply._replace(by=controller)))
    return cluster


def find_controller(cluster: Cluster, arguments: Arguments) -> Cluster | Refusal:
    process = arguments["process"].index
    owner = cluster.zookeeper.tree[CONTROLLER].stat.owner
    for controller, host in enumerate(cluster.controllers):
        if cluster.zookeeper.clients[cluster.client_of(controller)].session == owner:
            core = copied(core_of(cluster.processes[process]))
            core.on_controller(host.core.broker)
            return goes_to(by_broker(cluster, process, core, []), process, controller)
    return Refusal("nobody is in office")


def catch_up(cluster: Cluster, arguments: Arguments) -> Cluster:
    """The server that a controller reads from has all transactions."""
    client, zookeeper = cluster.client_of(arguments["controller"].index), cluster.zookeeper
    while zookeeper.is_behind(client):
        zookeeper = zookeeper.catch_up(client)
    return heard(replace(cluster, zookeeper=zookeeper))


OPERATIONS = {
    step.__name__: step
    for step in (
        write_isr, reread_isr, reread_partition, roll, roll_controller, expire_controller_session, hear_of_expiry,
        take_office, find_controller, catch_up,
    )
}  # fmt: skip
