"""Metrics in the text format of Prometheus, over HTTP. Names, types and labels are prometheus_client's own business."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, start_http_server


@contextmanager
def served(registry: CollectorRegistry, host: str, port: int) -> Iterator[str]:
    """Serve a registry at http://host:port/metrics, on a thread of its own; port 0: any. Yields "host:port".

    Raises OSError where the address is taken.
    """
    server, thread = start_http_server(port, host, registry)
    try:
        yield f"{host}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
