"""The links of a broker to the servers of an ensemble, as one: cut, healed, a reply lost."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from tests.cluster.proxy import Direction, Proxy
from tests.cluster.zookeeper import Ensemble, has_multi


class Links:
    """The links of one broker to all servers of an ensemble, as one."""

    def __init__(self, ensemble: Ensemble) -> None:
        self._proxies = [Proxy(server.address) for server in ensemble.servers]

    @property
    def hosts(self) -> str:
        """As in zookeeper.connect."""
        return ",".join(link.address for link in self._proxies)

    def cut(self, *directions: Direction) -> None:
        for link in self._proxies:
            link.cut(*directions)

    def heal(self) -> None:
        for link in self._proxies:
            link.heal()

    def lose_reply(self, meanwhile: Callable[[], None], to: Callable[[bytes], bool] = has_multi) -> None:
        """The reply to the broker's next multi over each link is lost, and its connection with it.

        meanwhile: done before that. to: says of what the broker sends whether it is meant.
        """

        def lost(link: Proxy) -> None:
            meanwhile()
            with suppress(RuntimeError, TimeoutError):  # the run may be over by now
                link.reset()
                link.heal()

        for link in self._proxies:
            link.lose_reply(to, lambda link=link: lost(link))  # type: ignore[misc]  # a default has no type

    def stop(self) -> None:
        for link in self._proxies:
            link.stop()
