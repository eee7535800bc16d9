"""Optimized code for a kernel that is in use."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from checker.explicit.kernel.cache import store_entry
from checker.explicit.kernel.native import OPTIMIZED_S_PER_LINE, POLL_S, Compilation


class Speedup:
    """Optimized code for a kernel that was compiled without optimizing.

    Most searches end long before they would have won back the time that optimizing takes. after_s: seconds of CPU after
    which a search is none of these. A quarter of what optimizing takes: with what the quick code took, a search that
    continues has lost a third of it, and one that ends before has saved three quarters.
    """

    def __init__(self, text: str, key: str, metadata: Mapping[str, Any]) -> None:
        self.after_s = text.count("\n") * OPTIMIZED_S_PER_LINE / 4
        self._text = text
        self._key = key
        self._metadata = metadata

    def code(self, is_stopped: Callable[[], bool]) -> bytes | None:
        """Object code, which goes to the cache, too; None where `is_stopped` says so, or no process can be started."""
        try:
            compilation = Compilation(self._text)
            while (code := compilation.code()) is None and not is_stopped():
                time.sleep(POLL_S)
        except OSError:
            return None  # the code at hand will do
        if code is not None:
            store_entry(self._key, self._metadata, code)
        return code
