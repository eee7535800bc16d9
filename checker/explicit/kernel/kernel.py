"""A compiled model: native functions, and what search, simulation and reports need to know about it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checker.explicit.kernel.coverage import Exit, Signature
from checker.explicit.kernel.description import KernelGroup, KernelObligation, KernelProperty, layout_of, sites_of
from checker.explicit.kernel.layout import Layout
from checker.explicit.kernel.native import link
from checker.explicit.kernel.speedup import Speedup
from checker.lang.ir import Site

_POINTER, _LONG = ctypes.c_void_p, ctypes.c_int64
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "expand": (_LONG, _POINTER, _POINTER, _LONG, _LONG),
    "route": (_LONG, _POINTER, _POINTER, _LONG, _LONG),
    "insert": (_LONG, _POINTER, _POINTER, _LONG),
    "find": (None, _POINTER, _POINTER, _LONG, _POINTER),
    "rehash": (None, _POINTER),
    "survey": (_LONG, _POINTER, _LONG, _POINTER),
    "tally": (None, _POINTER, _LONG, _POINTER),
    "classify": (None, _POINTER, _LONG, _POINTER),
    "watch": (None, _POINTER, _LONG, _POINTER),
    "walk": (_LONG, _POINTER, _POINTER),
}


@dataclass
class Kernel:
    """One model, ready to run.

    key: what the caller named it by.
    instances[i]: (action, number within the action) of instance i, in the order of `Program.instances`.
    obligations, groups, renewing: as in `Liveness`; empty where no liveness is asked for. A condition is its number,
    None where it always holds; `watch` shows which of the `conditions` hold in a state.
    calls: the native functions by name (see `runtime`); they take addresses and release the GIL. Look them up when
    they are called: others, which do the same faster, may come in their place (see `Speedup`).
    """

    key: str
    layout: Layout
    actions: list[str]
    sites: list[Site]
    properties: list[KernelProperty]
    instances: list[tuple[int, int]]
    signatures: list[Signature]
    counters: int
    records_outcomes: bool
    obligations: list[KernelObligation]
    groups: list[KernelGroup]
    renewing: dict[int, int | None]
    conditions: int
    calls: dict[str, Callable[..., Any]]
    engine: object  # keeps the native code loaded
    speedup: Speedup | None = None

    @property
    def words(self) -> int:
        """64-bit words a state takes."""
        return self.layout.words

    def mask_of(self, *kinds: str) -> int:
        """The properties of these kinds, as a bit mask."""
        return sum(1 << i for i, p in enumerate(self.properties) if p.kind in kinds)

    def used(self, cpu_s: float, is_stopped: Callable[[], bool]) -> None:
        """Called now and then with what a search has cost so far: where it is worth while, continue with faster code.

        is_stopped: whether to give up. What runs of the old code meanwhile goes on to its end.
        """
        if self.speedup is None or cpu_s < self.speedup.after_s:
            return
        code = self.speedup.code(is_stopped)
        self.speedup = None
        if code is not None:
            engine, addresses = link(code, list(_SIGNATURES))
            self.engine = (self.engine, engine)
            self.calls.update(_bind(addresses))


def assemble(key: str, metadata: Mapping[str, Any], code: bytes) -> Kernel:
    """The kernel from its metadata and object code."""
    engine, addresses = link(code, list(_SIGNATURES))
    return Kernel(
        key=key,
        layout=layout_of(metadata),
        actions=list(metadata["actions"]),
        sites=sites_of(metadata),
        properties=[KernelProperty(name, kind) for name, kind in metadata["properties"]],
        instances=[(action, number) for action, number in metadata["instances"]],
        signatures=[
            Signature(action, fired, tuple(Exit(*e) for e in exits)) for action, fired, exits in metadata["signatures"]
        ],
        counters=metadata["counters"],
        records_outcomes=metadata["outcomes"],
        obligations=[KernelObligation(*one) for one in metadata["obligations"]],
        groups=[KernelGroup(kind, tuple(instances), bit) for kind, instances, bit in metadata["groups"]],
        renewing=dict(metadata["renewing"]),
        conditions=metadata["conditions"],
        calls=_bind(addresses),
        engine=engine,
    )


def _bind(addresses: Sequence[int]) -> dict[str, Callable[..., Any]]:
    return {
        name: ctypes.CFUNCTYPE(*signature)(address)
        for (name, signature), address in zip(_SIGNATURES.items(), addresses, strict=True)
    }
