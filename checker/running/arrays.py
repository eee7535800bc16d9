"""Types of arrays, by what they hold."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
"""Packed states, of shape (states, words), or parts of such."""
Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Bits = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.integer]
"""Integers of any width."""
