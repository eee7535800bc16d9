"""Cost of the search for lassos: the graph, its fair parts with strongly fair bindings to prune by, a lasso to show.

usage: python -m tests.benchmarks.liveness MODEL CLOCKS HOURS   (one model of liveness_clocks.py, as JSON)
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import Any

from tests.benchmarks.printing import line

SIZES = {"1 M": (6, 10), "10 M": (7, 10), "36 M": (7, 12)}
"""States: clocks and hours of `tests/models/liveness_clocks.py`."""


def liveness() -> None:
    """Liveness of 1, 10 and 36 million states, one process each, about 8 edges a state. Seconds of CPU, one thread."""
    for size, (clocks, hours) in SIZES.items():
        strong, weak = (run(model, clocks, hours) for model in ("strong", "weak"))
        line(f"{size}: states, edges", f"{strong['states']:,} {strong['edges']:,}")
        line(f"{size}: search, CPU seconds", f"{strong['search']:.1f}")
        line(f"{size}: graph, CPU seconds", f"{strong['graph']:.1f}")
        line(f"{size}: parts, pruned in {clocks} rounds, CPU seconds", f"{strong['look']:.1f}")
        line(f"{size}: parts and a lasso, CPU seconds", f"{weak['look']:.1f}")
        line(f"{size}: peak of the process, MiB (search alone)",
             f"{strong['peak_mib']:,.0f} ({strong['search_mib']:,.0f})")  # fmt: skip


def run(*arguments: object) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.benchmarks.liveness", *map(str, arguments)]
    found: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return found


def measure(name: str, clocks: str, hours: str) -> dict[str, Any]:
    """CPU seconds and MiB of one model."""
    from checker.explicit.check import kernel_of
    from checker.explicit.liveness.graph import build
    from checker.explicit.liveness.obligations import Seeker
    from checker.explicit.search.breadth_first import search
    from checker.lang.liveness import EVENTUALLY
    from checker.lang.loader import load
    from checker.running.deadline import Deadline
    from checker.running.limits import Limits

    model = load(f"tests/models/liveness_clocks.py/{name}", {"clocks": clocks, "hours": hours})
    kernel, deadline = kernel_of(model), Deadline(0.0, Limits())
    begun = time.process_time()
    result = search(kernel, [model.state_type.encode(s) for s in model.initial_states()])
    searched, search_mib = time.process_time(), mib()
    graph = build(kernel, result, deadline)
    built = time.process_time()
    lasso = Seeker(graph, kernel.groups, deadline).lasso(0, kernel.obligations[0], EVENTUALLY)
    done = time.process_time()
    assert (lasso is not None) == (name == "weak")
    return {"states": graph.count, "edges": len(graph.targets), "search": searched - begun, "graph": built - searched,
            "look": done - built, "search_mib": search_mib, "peak_mib": mib()}  # fmt: skip


def mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:])))
