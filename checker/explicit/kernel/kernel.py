"""A compiled model: native functions, and what search, simulation and reports need to know about it."""

from __future__ import annotations

import ctypes
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checker.explicit.kernel import abi
from checker.explicit.kernel.assembler import DECLARATIONS
from checker.explicit.kernel.cache import load_entry, store_entry
from checker.explicit.kernel.codegen import Transitions
from checker.explicit.kernel.coverage import CounterPlan, Exit, Signature, plan_counters
from checker.explicit.kernel.layout import Layout, LayoutError
from checker.explicit.kernel.native import OPTIMIZED_S_PER_LINE, Compilation, compile_ir, link
from checker.explicit.kernel.runtime import Runtime
from checker.explicit.kernel.watch import watch_functions
from checker.lang.ir import Bag, EventKind, Kind, Leaf, Op, Site
from checker.lang.liveness import Liveness
from checker.lang.program import Program

LONG_LINES = 50_000  # text that takes longer than a second to compile, even in a hurry
POLL_S = 0.01  # between looks at a process that compiles
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
}


@dataclass(frozen=True)
class KernelProperty:
    """Name and kind of a property, as in `ir.Property`."""

    name: str
    kind: str


@dataclass(frozen=True)
class KernelObligation:
    """An obligation: the index of its property, the number of its binding, and whether its condition is a state's.

    taken: the group whose steps are its goal, None where that is a state.
    """

    property: int
    number: int
    has_condition: bool
    taken: int | None = None


@dataclass(frozen=True)
class KernelGroup:
    """A group of steps. kind, instances: as of `StepGroup`; condition: its number among the conditions, if any."""

    kind: str
    instances: tuple[int, ...]
    condition: int | None = None


@dataclass
class Kernel:
    """One model, ready to run.

    key: what the caller named it by.
    instances[i]: (action, number within the action) of instance i, in the order of `Program.instances`.
    obligations, groups, renewing: as in `Liveness`; empty where no liveness is asked for. A condition is its number,
    None where it always holds; `watch` tells which of the `conditions` hold in a state.
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
        """Told now and then what a search has cost so far: where it is worth while, go on with faster code.

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


class Speedup:
    """Optimized code for a kernel that was made in a hurry.

    Most searches end long before they would have won back the time that optimizing takes. after_s: seconds of CPU after
    which a search is none of these. A quarter of what optimizing takes: with what the hurried code took, a search that
    goes on has lost a third of it, and one that ends before has saved three quarters.
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


@dataclass(frozen=True)
class KernelSource:
    """What a kernel is made from: fit for any machine, where object code is fit for this one. text: LLVM IR."""

    metadata: Mapping[str, Any]
    text: str


def compile_kernel(program: Program, key: str, *, record_outcomes: bool = False) -> Kernel:
    """Compile a model and keep the result in the cache under `key` (hex digits chosen by the caller).

    record_outcomes: a slower kernel that also tells how each single instance ended (`walk.outcomes`).
    Raises LayoutError where a state or a step cannot be represented.
    """
    return compile_source(kernel_source(program, record_outcomes), key)


def compile_source(source: KernelSource, key: str) -> Kernel:
    """The same from what `kernel_source` made, here or on another machine."""
    code = compile_ir(source.text)
    store_entry(_entry(key, source.metadata["outcomes"]), source.metadata, code)
    return _assemble(key, source.metadata, code)


def hurried_kernel(program: Program, key: str, tell: Callable[[int], None] = lambda lines: None) -> Kernel:
    """A kernel that is made in a quarter of the time and gets faster while it is used; see `Speedup`.

    Kept in the cache with the text that the faster code is made from. tell: called again and again with the lines of
    that text where there are many; what it raises ends the work. Raises LayoutError as `compile_kernel` does.
    """
    source = kernel_source(program)
    lines = source.text.count("\n")
    code = compile_ir(source.text, quick=True) if lines < LONG_LINES else _attended(source.text, lines, tell)
    store_entry(_hurried(key), source.metadata, code)
    store_entry(_text(key), {}, zlib.compress(source.text.encode(), level=1))
    return _with_speedup(key, source.metadata, code, source.text)


def _attended(text: str, lines: int, tell: Callable[[int], None]) -> bytes:
    """Object code made in a process of its own, so that limits and Ctrl-C hold meanwhile."""
    try:
        compilation = Compilation(text, quick=True)
        try:
            while (code := compilation.code()) is None:
                tell(lines)
                time.sleep(POLL_S)
        finally:
            compilation.stop()
    except OSError:  # no process can be started
        return compile_ir(text, quick=True)
    return code


def load_hurried(key: str) -> Kernel | None:
    """The best kernel that is in the cache under `key`: from `compile_kernel`, or from `hurried_kernel`."""
    found = load_kernel(key)
    if found is not None:
        return found
    code, text = load_entry(_hurried(key)), load_entry(_text(key))
    return _with_speedup(key, *code, zlib.decompress(text[1]).decode()) if code and text else None


def _with_speedup(key: str, metadata: Mapping[str, Any], code: bytes, text: str) -> Kernel:
    kernel = _assemble(key, metadata, code)
    kernel.speedup = Speedup(text, key, metadata)
    return kernel


def _hurried(key: str) -> str:
    return f"{key}-hurried"


def _text(key: str) -> str:
    return f"{key}-text"


def passing_kernel(program: Program, *, quick: bool) -> Kernel:
    """A kernel that is not kept. quick: made in a quarter of the time, and its search takes twice as long.

    Raises LayoutError as `compile_kernel` does.
    """
    source = kernel_source(program)
    return _assemble("", source.metadata, compile_ir(source.text, quick=quick))


def load_kernel(key: str, *, record_outcomes: bool = False) -> Kernel | None:
    """The kernel that an earlier `compile_kernel` left in the cache under `key`, if it is there and sound."""
    found = load_entry(_entry(key, record_outcomes))
    return None if found is None else _assemble(key, *found)


def _entry(key: str, record_outcomes: bool) -> str:
    return f"{key}-outcomes" if record_outcomes else key


def kernel_source(program: Program, record_outcomes: bool = False) -> KernelSource:
    """What a program's kernel is compiled from. Raises LayoutError."""
    if len(program.properties) > abi.MAX_PROPERTIES:
        raise LayoutError(f"{len(program.properties)} properties; at most {abi.MAX_PROPERTIES} are supported")
    if len(program.instances) >= abi.NO_INSTANCE:
        raise LayoutError(f"{len(program.instances)} instances of actions; at most {abi.NO_INSTANCE - 1} are supported")
    layout = Layout(program.leaves, program.bags, program.fresh_per_step)
    plan = plan_counters(program.instances, program.sites)
    transitions = Transitions(program, layout, plan, record_outcomes)
    of_states = [
        (i, p.condition)
        for i, p in enumerate(program.properties)
        if p.condition is not None and p.kind in ("invariant", "witness")
    ]
    invariants = sum(1 << i for i, p in enumerate(program.properties) if p.kind == "invariant")
    parts = [
        DECLARATIONS,
        transitions.text(),
        transitions.state_function("check", "i64", of_states),
        transitions.state_function("constraint", "i1", [(0, program.outside)]),
        transitions.state_function("terminal", "i1", [(0, program.terminal)]),
        watch_functions(transitions, layout.words, program.liveness),
        Runtime(layout, transitions.names, invariants, [i.action for i in program.instances] or [0]).text(),
    ]
    return KernelSource(describe(program, plan, record_outcomes), "\n".join(parts))


def describe(program: Program, plan: CounterPlan, record_outcomes: bool) -> dict[str, Any]:
    """What a kernel needs besides its code, as JSON."""
    numbers: dict[int, int] = {}
    instances = []
    for instance in program.instances:
        number = numbers.get(instance.action, 0)
        numbers[instance.action] = number + 1
        instances.append((instance.action, number))
    return {
        "leaves": [[v.path, v.kind.value, v.size, v.sort, v.slot, v.hidden] for v in program.leaves],
        "bags": [[bag.path, bag.slots] for bag in program.bags],
        "fresh": program.fresh_per_step,
        "actions": program.actions,
        "sites": [[s.kind.value, s.action, s.file, s.line, s.text, s.reason] for s in program.sites],
        "properties": [[p.name, p.kind] for p in program.properties],
        "instances": instances,
        "signatures": [
            [s.action, s.fired, [[e.site, e.counter, e.reached] for e in s.exits]] for s in plan.signatures
        ],
        "counters": plan.size,
        "outcomes": record_outcomes,
        **_liveness(program.liveness or Liveness((), (), {})),
    }


def _liveness(liveness: Liveness) -> dict[str, Any]:
    """The obligations, groups, renewing instances and number of conditions, as `Kernel` has them."""
    bits = {node.serial: bit for bit, node in enumerate(liveness.conditions)}
    numbers: dict[int, int] = {}
    obligations = []
    for one in liveness.obligations:
        number = numbers.get(one.property, 0)
        numbers[one.property] = number + 1
        obligations.append((one.property, number, one.condition is not None, one.taken))
    groups = []
    for group in liveness.groups:
        never = group.condition is not None and group.condition.op is Op.CONST and not group.condition.data
        bit = None if group.condition is None else bits.get(group.condition.serial)
        groups.append((group.kind, () if never else group.instances, bit))
    renewing = [(instance, bits.get(node.serial)) for instance, node in liveness.renewing.items()]
    return {"obligations": obligations, "groups": groups, "renewing": renewing, "conditions": len(bits)}


def _assemble(key: str, metadata: Mapping[str, Any], code: bytes) -> Kernel:
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
            Signature(action, fired, tuple(Exit(*e) for e in exits))
            for action, fired, exits in metadata["signatures"]
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


def layout_of(metadata: Mapping[str, Any]) -> Layout:
    """The layout that `describe` described."""
    leaves = [
        Leaf(path, Kind(kind), size, sort, None if slot is None else (slot[0], slot[1]), hidden)
        for path, kind, size, sort, slot, hidden in metadata["leaves"]
    ]
    bags = [Bag(path, tuple(tuple(slot) for slot in slots)) for path, slots in metadata["bags"]]
    return Layout(leaves, bags, metadata["fresh"])


def sites_of(metadata: Mapping[str, Any]) -> list[Site]:
    """The sites that `describe` described."""
    return [Site(EventKind(kind), *rest) for kind, *rest in metadata["sites"]]


def _bind(addresses: Sequence[int]) -> dict[str, Callable[..., Any]]:
    return {
        name: ctypes.CFUNCTYPE(*signature)(address)
        for (name, signature), address in zip(_SIGNATURES.items(), addresses, strict=True)
    }
