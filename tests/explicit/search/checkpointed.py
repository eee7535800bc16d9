"""A search in a process of its own, slow enough to be killed: DIRECTORY THREADS resume|start."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from checker.explicit.kernel.build import compile_kernel, load_kernel
from checker.explicit.search.breadth_first import search
from tests.explicit.async_isr import AsyncIsr


def main(directory: Path, threads: int, resume: bool) -> None:
    model = AsyncIsr(3, 2)
    kernel = load_kernel("checkpointed") or compile_kernel(model.program(), "checkpointed")
    print("ready", flush=True)
    result = search(
        kernel,
        [model.initial()],
        threads=threads,
        checkpoint=None if resume else directory,
        resume=directory if resume else None,
        progress=lambda progress: time.sleep(0.005),
    )
    seen = [sorted(s.codes) if s.codes is not None else s.union for s in result.seen]
    coverage = [vars(c) for c in [*result.actions, *result.sites]]
    print(json.dumps([result.generated, result.distinct, result.depth, seen, coverage]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "resume")
