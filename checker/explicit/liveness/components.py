"""Native code for work on a graph of states: numbering, reaching, fair strongly connected components.

The functions are the same for every model. Each works on a record of 64-bit integers (addresses first, then how far
it is), does about `budget` steps and returns, to be called again: so that long work can be watched and stopped.

`components` is the algorithm of Pearce (A space-efficient algorithm for finding strongly connected components, 2016),
with a stack of its own instead of recursion: 12 bytes a state. A part is judged as soon as it is complete.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping
from typing import Any

from checker.explicit.kernel.assembler import DECLARATIONS, Function
from checker.explicit.kernel.cache import load_entry, store_entry
from checker.explicit.kernel.native import compile_ir, link

# The record of `reach`: edges first[s]..first[s + 1] - 1 leave s.
FIRST = 0  # i64 per state
TARGETS = 1  # i32 per edge
# The record of `reach` goes on with
INSIDE = 2  # i8 per state: 1 to be reached, 2 reached
QUEUE = 3  # i32 per state
HEAD, TAIL = 4, 5  # of the queue: states whose edges were followed, states reached
REACH_FIELDS = 6
# The record of `components` goes on with
LABELS = 2  # i32 per edge
MEMBER_FIRST = 3  # i64 per label, and one more: where the fair groups begin that an edge with this label is a step of
MEMBERS = 4  # i32: the numbers of fair groups, label by label
STRONG = 5  # i64 per fair group: 1 strongly fair, 0 weakly
GROUPS = 6  # how many
ENABLED, TAKEN, LAST = 7, 8, 9  # i64 per fair group, for `judge`: states that enable it, whether taken, state seen
MARKS = 10  # i32 per state, see below
STACK = 11  # i32 per state: unfinished parts from the lower end, the way to the state at hand from the upper end
CURSORS = 12  # i32 per state on that way: edges followed, shifted left; the last bit: an edge led to an earlier state
COUNT = 13  # states
ROOT, DEPTH, TOP, INDEX, LABEL = 14, 15, 16, 17, 18  # next start; heights of the stacks; next number; next part
VISITED = 19  # states visited so far
AGAIN_SEEN = 20  # whether any state is marked AGAIN
COMPONENT_FIELDS = 21

# Marks. 0: to be visited. Below that of any part: the number of a state that was visited.
LAST_PART = 0x7FFFFFFD  # parts are numbered downwards from here
AGAIN = 0x7FFFFFFE  # in a part that is fair but for strongly fair groups that only other states of it enable
NOWHERE = 0x7FFFFFFF  # on no fair cycle, or outside

_POINTER, _LONG = ctypes.c_void_p, ctypes.c_int64
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "number": (_LONG, _POINTER, _LONG, _POINTER, _POINTER, _POINTER, _LONG),
    "reach": (_LONG, _POINTER, _LONG),
    "components": (_LONG, _POINTER, _LONG),
}


@functools.cache
def traversals() -> Mapping[str, Callable[..., Any]]:
    """The native functions by name. They take addresses and release the GIL."""
    found = load_entry("traversals")
    if found is None:
        code = compile_ir("\n".join([DECLARATIONS, _number(), _reach(), _judge(), _components()]))
        store_entry("traversals", {}, code)
    else:
        _, code = found
    engine, addresses = link(code, list(_SIGNATURES))
    _engines.append(engine)
    return {
        name: ctypes.CFUNCTYPE(*signature)(address)
        for (name, signature), address in zip(_SIGNATURES.items(), addresses, strict=True)
    }


_engines: list[object] = []  # they keep the native code loaded


def _pointers(f: Function, *members: int) -> list[str]:
    return [f.op(f"inttoptr i64 {f.load('%r', member)} to ptr") for member in members]


def _number() -> str:
    """number(found, n, numbers, order, targets, next) -> next: the states of `found` by number, into `targets`.

    found: i64, 1 + index of a stored state. numbers: i32 per stored state, 1 + its number, 0 for none yet: then it
    gets the next one, and its place in `order` (i32 per number, the index of the state).
    """
    parameters = {"found": "ptr", "n": "i64", "numbers": "ptr", "order": "ptr", "targets": "ptr", "next": "i64"}
    f = Function("number", "i64", parameters)
    following = f.variable("%next")
    with f.count("0", "%n") as i:
        index = f.op(f"sub i64 {f.load('%found', i)}, 1")
        known = f.load32("%numbers", index)
        with f.when(f.op(f"icmp eq i64 {known}, 0")):
            number = following.get()
            f.store32(index, "%order", number)
            following.set(f.op(f"add i64 {number}, 1"))
            f.store32(following.get(), "%numbers", index)
        f.store32(f.op(f"sub i64 {f.load32('%numbers', index)}, 1"), "%targets", i)
    f.line(f"ret i64 {following.get()}")
    return f.text()


def _reach() -> str:
    """reach(record, budget) -> 1 when all is reached."""
    f = Function("reach", "i64", {"r": "ptr", "budget": "i64"})
    first, targets, inside, queue = _pointers(f, FIRST, TARGETS, INSIDE, QUEUE)
    left = f.variable("%budget")
    with f.loop() as after:
        head = f.load("%r", HEAD)
        f.leave_when(f.op(f"icmp eq i64 {head}, {f.load('%r', TAIL)}"), after)
        f.leave_when(f.op(f"icmp sle i64 {left.get()}, 0"), after)
        state = f.load32(queue, head)
        start, end = f.load(first, state), f.load(first, f.op(f"add i64 {state}, 1"))
        _prefetch_all(f, targets, start, end, inside, "i8")
        with f.count(start, end) as edge:
            target = f.load32(targets, edge)
            place = f.at(inside, target, "i8")
            with f.when(f.op(f"icmp eq i8 {f.op(f'load i8, ptr {place}')}, 1")):
                f.line(f"store i8 2, ptr {place}")
                tail = f.load("%r", TAIL)
                f.store32(target, queue, tail)
                f.store(f.op(f"add i64 {tail}, 1"), "%r", TAIL)
        f.store(f.op(f"add i64 {head}, 1"), "%r", HEAD)
        spent = f.op(f"add i64 {f.op(f'sub i64 {end}, {start}')}, 1")
        left.set(f.op(f"sub i64 {left.get()}, {spent}"))
    done = f.op(f"icmp eq i64 {f.load('%r', HEAD)}, {f.load('%r', TAIL)}")
    f.line(f"ret i64 {f.op(f'zext i1 {done} to i64')}")
    return f.text()


def _prefetch_all(f: Function, targets: str, start: str, end: str, of: str, kind: str) -> None:
    """Prefetch what an array holds for the targets of the edges start..end - 1."""
    with f.count(start, end) as edge:
        f.prefetch(f.at(of, f.load32(targets, edge), kind))


def _components() -> str:
    """components(record, budget) -> 1 when every state was visited."""
    f = Function("components", "i64", {"r": "ptr", "budget": "i64"})
    first, targets, marks, stack, cursors = _pointers(f, FIRST, TARGETS, MARKS, STACK, CURSORS)
    count = f.load("%r", COUNT)
    left, edge, mark, cursor = (f.variable("0") for _ in range(4))
    left.set("%budget")
    with f.loop() as after:
        f.leave_when(f.op(f"icmp sle i64 {left.get()}, 0"), after)
        with f.when(f.op(f"icmp eq i64 {f.load('%r', DEPTH)}, 0")):
            root = _next_root(f, marks, count)
            with f.when(f.op(f"icmp eq i64 {root}, {count}")):
                f.line("ret i64 1")
                f.open(f.label())
            _open(f, root, marks, stack, cursors, count)
        depth = f.load("%r", DEPTH)
        frame = f.op(f"sub i64 {depth}, 1")
        state = f.load32(stack, f.op(f"sub i64 {count}, {depth}"))
        start, end = f.load(first, state), f.load(first, f.op(f"add i64 {state}, 1"))
        cursor.set(f.load32(cursors, frame))
        mark.set(f.load32(marks, state))
        with f.when(f.op(f"icmp ult i64 {cursor.get()}, 2")):
            _prefetch_all(f, targets, start, end, marks, "i32")
        begun = f.op(f"add i64 {start}, {f.op(f'lshr i64 {cursor.get()}, 1')}")
        edge.set(begun)
        lowered = f.variable(f.op(f"and i64 {cursor.get()}, 1"))
        unvisited = f.variable(count)
        with f.loop() as out:
            at = edge.get()
            f.leave_when(f.op(f"icmp eq i64 {at}, {end}"), out)
            target = f.load32(targets, at)
            other = f.load32(marks, target)
            with f.when(f.op(f"icmp eq i64 {other}, 0")):
                unvisited.set(target)
            f.leave_when(f.op(f"icmp eq i64 {other}, 0"), out)
            with f.when(f.op(f"icmp ult i64 {other}, {mark.get()}")):
                mark.set(other)
                lowered.set("1")
            edge.set(f.op(f"add i64 {at}, 1"))
        f.store32(mark.get(), marks, state)
        spent = f.op(f"add i64 {f.op(f'sub i64 {edge.get()}, {begun}')}, 1")
        left.set(f.op(f"sub i64 {left.get()}, {spent}"))
        onwards, back, on = f.label(), f.label(), f.label()
        f.branch(f.op(f"icmp ne i64 {unvisited.get()}, {count}"), onwards, back)
        f.open(onwards)  # the edge is looked at again when its target is done
        followed = f.op(f"shl i64 {f.op(f'sub i64 {edge.get()}, {start}')}, 1")
        f.store32(f.op(f"or i64 {followed}, {lowered.get()}"), cursors, frame)
        _open(f, unvisited.get(), marks, stack, cursors, count)
        f.jump(on)
        f.open(back)
        f.store(frame, "%r", DEPTH)
        _leave(f, state, lowered.get(), (first, targets, marks, stack))
        f.jump(on)
        f.open(on)
    f.line("ret i64 0")
    return f.text()


def _next_root(f: Function, marks: str, count: str) -> str:
    """The first state from ROOT on that is to be visited, or `count`."""
    root = f.variable(f.load("%r", ROOT))
    with f.loop() as found:
        f.leave_when(f.op(f"icmp eq i64 {root.get()}, {count}"), found)
        f.leave_when(f.op(f"icmp eq i64 {f.load32(marks, root.get())}, 0"), found)
        root.set(f.op(f"add i64 {root.get()}, 1"))
    f.store(root.get(), "%r", ROOT)
    return root.get()


def _open(f: Function, state: str, marks: str, stack: str, cursors: str, count: str) -> None:
    """Go to a state: it gets the next number."""
    depth, index = f.load("%r", DEPTH), f.load("%r", INDEX)
    f.store32(index, marks, state)
    f.store(f.op(f"add i64 {index}, 1"), "%r", INDEX)
    f.store32("0", cursors, depth)
    deeper = f.op(f"add i64 {depth}, 1")
    f.store(deeper, "%r", DEPTH)
    f.store32(state, stack, f.op(f"sub i64 {count}, {deeper}"))
    f.increment("%r", VISITED, 1)


def _leave(f: Function, state: str, lowered: str, arrays: tuple[str, str, str, str]) -> None:
    """All edges of a state were followed: it waits for its part to be complete, or completes it."""
    first, targets, marks, stack = arrays
    top = f.variable(f.load("%r", TOP))
    waits, completes, after = f.label(), f.label(), f.label()
    f.branch(f.op(f"icmp ne i64 {lowered}, 0"), waits, completes)
    f.open(waits)
    f.store32(state, stack, top.get())
    f.store(f.op(f"add i64 {top.get()}, 1"), "%r", TOP)
    f.jump(after)
    f.open(completes)
    end, label, own = top.get(), f.load("%r", LABEL), f.load32(marks, state)
    with f.loop() as out:
        f.leave_when(f.op(f"icmp eq i64 {top.get()}, 0"), out)
        below = f.op(f"sub i64 {top.get()}, 1")
        member = f.load32(stack, below)
        f.leave_when(f.op(f"icmp ult i64 {f.load32(marks, member)}, {own}"), out)
        f.store32(label, marks, member)
        top.set(below)
    f.store32(label, marks, state)
    f.store32(state, stack, end)
    f.store(top.get(), "%r", TOP)
    limit = f.op(f"add i64 {end}, 1")
    size = f.op(f"sub i64 {limit}, {top.get()}")
    f.store(f.op(f"sub i64 {f.load('%r', INDEX)}, {size}"), "%r", INDEX)
    cyclic = f.variable(f.op(f"zext i1 {f.op(f'icmp ne i64 {size}, 1')} to i64"))
    with f.count(f.load(first, state), f.load(first, f.op(f"add i64 {state}, 1"))) as edge:
        loop = f.op(f"icmp eq i64 {f.load32(targets, edge)}, {state}")
        cyclic.set(f.op(f"select i1 {loop}, i64 1, i64 {cyclic.get()}"))
    judged, alone = f.label(), f.label()
    f.branch(f.op(f"icmp ne i64 {cyclic.get()}, 0"), judged, alone)
    f.open(judged)
    f.store(f.op(f"sub i64 {label}, 1"), "%r", LABEL)
    f.line(f"call fastcc void @judge(ptr %r, i64 {top.get()}, i64 {limit})")
    f.jump(after)
    f.open(alone)
    f.store32(str(NOWHERE), marks, state)
    f.jump(after)
    f.open(after)


def _judge() -> str:
    """judge(record, from, to): whether the tour of the part of these states of the stack is fair; else mark them."""
    f = Function("judge", "void", {"r": "ptr", "from": "i64", "to": "i64"}, "internal fastcc", "noinline")
    targets, strong, enabled, taken, last = _pointers(f, TARGETS, STRONG, ENABLED, TAKEN, LAST)
    marks, stack = _pointers(f, MARKS, STACK)
    groups = f.load("%r", GROUPS)
    with f.count("0", groups) as k:
        for array in (enabled, taken, last):
            f.store("0", array, k)
    label = f.load32(marks, f.load32(stack, "%from"))

    def tally(state: str, edge: str, k: str) -> None:
        seen = f.op(f"add i64 {state}, 1")
        with f.when(f.op(f"icmp ne i64 {f.load(last, k)}, {seen}")):
            f.store(seen, last, k)
            f.increment(enabled, k)
        with f.when(f.op(f"icmp eq i64 {f.load(taken, k)}, 0")):
            inside = f.op(f"icmp eq i64 {f.load32(marks, f.load32(targets, edge))}, {label}")
            f.store(f.op(f"zext i1 {inside} to i64"), taken, k)

    _each_fair_edge(f, stack, tally)
    size = f.op("sub i64 %to, %from")
    starved, hindered = f.variable("0"), f.variable("0")
    with f.count("0", groups) as k:
        f.store("0", last, k)  # from here on: whether the part refuses the group, and it is strongly fair
        with f.when(f.op(f"icmp eq i64 {f.load(taken, k)}, 0")):
            kind = f.op(f"icmp ne i64 {f.load(strong, k)}, 0")
            some = f.op(f"and i1 {kind}, {f.op(f'icmp ne i64 {f.load(enabled, k)}, 0')}")
            every = f.op(f"icmp eq i64 {f.load(enabled, k)}, {size}")
            weak = f.op(f"and i1 {f.op(f'xor i1 {kind}, true')}, {every}")
            f.store(f.op(f"zext i1 {some} to i64"), last, k)
            hindered.set(f.op(f"or i64 {hindered.get()}, {f.op(f'zext i1 {some} to i64')}"))
            starved.set(f.op(f"or i64 {starved.get()}, {f.op(f'zext i1 {weak} to i64')}"))
    with f.when(f.op(f"icmp eq i64 {f.op(f'or i64 {starved.get()}, {hindered.get()}')}, 0")):
        f.line("ret void")
        f.open(f.label())
    left = f.op(f"select i1 {f.op(f'icmp ne i64 {starved.get()}, 0')}, i64 {NOWHERE}, i64 {AGAIN}")
    with f.count("%from", "%to") as i:
        f.store32(left, marks, f.load32(stack, i))
    with f.when(f.op(f"icmp ne i64 {starved.get()}, 0")):
        f.line("ret void")
        f.open(f.label())
    f.store("1", "%r", AGAIN_SEEN)

    def drop(state: str, edge: str, k: str) -> None:
        with f.when(f.op(f"icmp ne i64 {f.load(last, k)}, 0")):
            f.store32(str(NOWHERE), marks, state)

    _each_fair_edge(f, stack, drop)
    f.line("ret void")
    return f.text()


def _each_fair_edge(f: Function, stack: str, body: Callable[[str, str, str], None]) -> None:
    """body(state, edge, fair group) for each edge that is a step of one, out of states from..to - 1 of the stack."""
    first, labels, member_first, members = _pointers(f, FIRST, LABELS, MEMBER_FIRST, MEMBERS)
    with f.count("%from", "%to") as i:
        state = f.load32(stack, i)
        with f.count(f.load(first, state), f.load(first, f.op(f"add i64 {state}, 1"))) as edge:
            label = f.load32(labels, edge)
            with f.count(f.load(member_first, label), f.load(member_first, f.op(f"add i64 {label}, 1"))) as member:
                body(state, edge, f.load32(members, member))
