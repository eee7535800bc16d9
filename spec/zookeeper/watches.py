"""One-shot watches: a set of paths that are armed, and a queue of events for paths whose znode has changed since.

An event says that something has changed, not what. A path is in the queue once: where an event still waits, a second
one would only make its process read the same again. The helpers serve any enumeration of paths.
"""

from __future__ import annotations

from typing import Any


def queued(events: tuple[Any, ...], path: Any) -> Any:
    """The queue once the watch on a path has fired: the event is the last, unless one of that path is waiting."""
    return events if any(waiting == path for waiting in events) else events + (path,)


def is_next(events: tuple[Any, ...], path: Any) -> bool:
    """The next event to handle is of this path."""
    return len(events) > 0 and events[0] == path
