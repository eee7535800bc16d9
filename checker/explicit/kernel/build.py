"""Kernels from programs, and from the cache."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from checker.explicit.kernel import abi
from checker.explicit.kernel.assembler import DECLARATIONS
from checker.explicit.kernel.cache import load_entry, store_entry
from checker.explicit.kernel.codegen import Transitions
from checker.explicit.kernel.coverage import plan_counters
from checker.explicit.kernel.description import describe
from checker.explicit.kernel.kernel import Kernel, assemble
from checker.explicit.kernel.layout import Layout, LayoutError
from checker.explicit.kernel.native import POLL_S, Compilation, compile_ir
from checker.explicit.kernel.predicates import predicate_functions
from checker.explicit.kernel.runtime import Runtime
from checker.explicit.kernel.speedup import Speedup
from checker.explicit.kernel.walking import Walking
from checker.lang.program import Program
from checker.running.memory import resident_bytes

LONG_LINES = 50_000  # text that takes longer than a second to compile, even without optimizing


@dataclass(frozen=True)
class KernelSource:
    """The source of a kernel: fit for any machine, where object code is fit for this one. text: LLVM IR."""

    metadata: Mapping[str, Any]
    text: str


def compile_kernel(program: Program, key: str, *, record_outcomes: bool = False) -> Kernel:
    """Compile a model and keep the result in the cache under `key` (hex digits chosen by the caller).

    record_outcomes: a slower kernel that also reports how each single instance ended (`walk.outcomes`). It is compiled
    quickly, without optimization: its callers spend more time in Python than in the kernel.
    Raises LayoutError where a state or a step cannot be represented.
    """
    return compile_source(kernel_source(program, record_outcomes), key)


def compile_source(source: KernelSource, key: str) -> Kernel:
    """The same from what `kernel_source` made, here or on another machine."""
    code = compile_ir(source.text, quick=source.metadata["outcomes"])
    store_entry(_entry(key, source.metadata["outcomes"]), source.metadata, code)
    return assemble(key, source.metadata, code)


def quick_kernel(
    program: Program, key: str, progress: Callable[[int, int], None] = lambda lines, child_bytes: None
) -> Kernel:
    """A kernel that is made in a quarter of the time and gets faster while it is used; see `Speedup`.

    Kept in the cache with the text that the faster code is made from. progress: called repeatedly, where that text is
    long, with its lines and the bytes of memory that the compiler holds; what it raises ends the work. Raises
    LayoutError as `compile_kernel` does.
    """
    source = kernel_source(program)
    lines = source.text.count("\n")
    code = compile_ir(source.text, quick=True) if lines < LONG_LINES else _attended(source.text, lines, progress)
    store_entry(_quick(key), source.metadata, code)
    store_entry(_text(key), {}, zlib.compress(source.text.encode(), level=1))
    return _with_speedup(key, source.metadata, code, source.text)


def _attended(text: str, lines: int, progress: Callable[[int, int], None]) -> bytes:
    """Object code made in a process of its own, so that limits and Ctrl-C hold meanwhile."""
    try:
        compilation = Compilation(text, quick=True)
        try:
            while (code := compilation.code()) is None:
                progress(lines, resident_bytes(compilation.process_id))
                time.sleep(POLL_S)
        finally:
            compilation.stop()
    except OSError:  # no process can be started
        return compile_ir(text, quick=True)
    return code


def load_quick(key: str) -> Kernel | None:
    """The best kernel that is in the cache under `key`: from `compile_kernel`, or from `quick_kernel`."""
    found = load_kernel(key)
    if found is not None:
        return found
    code, text = load_entry(_quick(key)), load_entry(_text(key))
    return _with_speedup(key, *code, zlib.decompress(text[1]).decode()) if code and text else None


def _with_speedup(key: str, metadata: Mapping[str, Any], code: bytes, text: str) -> Kernel:
    kernel = assemble(key, metadata, code)
    kernel.speedup = Speedup(text, key, metadata)
    return kernel


def _quick(key: str) -> str:
    return f"{key}-quick"


def _text(key: str) -> str:
    return f"{key}-text"


def passing_kernel(program: Program, *, quick: bool) -> Kernel:
    """A kernel that is not kept. quick: made in a quarter of the time, and its search takes twice as long.

    Raises LayoutError as `compile_kernel` does.
    """
    source = kernel_source(program)
    return assemble("", source.metadata, compile_ir(source.text, quick=quick))


def load_kernel(key: str, *, record_outcomes: bool = False) -> Kernel | None:
    """The kernel that an earlier `compile_kernel` left in the cache under `key`, if it is there and sound."""
    found = load_entry(_entry(key, record_outcomes))
    return None if found is None else assemble(key, *found)


def _entry(key: str, record_outcomes: bool) -> str:
    return f"{key}-outcomes" if record_outcomes else key


def kernel_source(program: Program, record_outcomes: bool = False) -> KernelSource:
    """The source that a program's kernel is compiled from. Raises LayoutError."""
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
        predicate_functions(transitions, layout.words, program.liveness),
        Runtime(layout, transitions.names, invariants, [i.action for i in program.instances] or [0]).text(),
        Walking(layout.words, program.sites).text(),
    ]
    return KernelSource(describe(program, plan, record_outcomes), "\n".join(parts))
