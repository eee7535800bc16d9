"""One state at a time: successors and outcomes."""

from __future__ import annotations

import pytest

from checker.explicit.kernel.build import compile_kernel
from checker.explicit.search.walk import Outcome, outcomes, successors
from checker.lang.ir import EventKind
from tests.explicit.small_models import subsets


def test_successors_and_outcomes() -> None:
    kernel = compile_kernel(subsets(2), "two", record_outcomes=True)
    assert successors(kernel, (2,)) == [(1, (0,), False), (2, (3,), False), (3, (2,), False)]
    absent = kernel.sites.index(next(s for s in kernel.sites if s.kind is EventKind.ABSENT))
    assert outcomes(kernel, (2,)) == [
        Outcome(0, absent, None),
        Outcome(1, None, (0,)),
        Outcome(2, None, (3,)),
        Outcome(3, None, (2,)),
    ]
    with pytest.raises(ValueError, match="without record_outcomes"):
        outcomes(compile_kernel(subsets(2), "two"), (2,))
