"""Histories of clients: what one log explains is accepted, and nothing else is."""

from __future__ import annotations

import pytest

from impl.kraft.simulation.histories import NotLinearizableError, Operation, check

FIRST, SECOND = Operation(1, 0, 5, (1,)), Operation(2, 6, 9, (1, 2))


def test_one_log_explains_it() -> None:
    check([])
    check([FIRST, SECOND, Operation(3, 1)])
    check([Operation(3, 1), Operation(2, 4, 9, (3, 2))])  # never answered, and it has happened
    check([Operation(1, 0, 9, (2, 1)), Operation(2, 0, 9, (2,))])  # at the same time, in either order


@pytest.mark.parametrize(
    ("lie", "why"),
    [
        ([FIRST, Operation(2, 6, 9, (2,))], "others have not seen it"),
        ([Operation(1, 0, 5, (2, 1)), Operation(2, 6, 9, (2,))], "before one that was answered"),
        ([Operation(1, 0, 5, (2, 1)), Operation(2, 5, 9, (2,))], "before one that was answered"),  # right after it
        ([FIRST, Operation(2, 6, 9, (3, 2))], "others have not seen it"),
        ([Operation(1, 0, 5, (2,))], "does not end in it"),
        ([FIRST, Operation(2, 6, 9, (1, 1, 2))], "appended twice"),
    ],
)
def test_a_lie_is_refused(lie: list[Operation], why: str) -> None:
    with pytest.raises(NotLinearizableError, match=why):
        check(lie)
