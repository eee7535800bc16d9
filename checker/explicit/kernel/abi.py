"""The interface of generated code and Python: records in memory, as arrays of 64-bit integers.

Context (one per thread): the header below, then one (cursor, limit) pair per box, then the counters.
Box 0 takes edges, box 1 + s the candidates for shard s. A box with cursor 0 is closed: nothing goes in.

Candidate: words, meta.   Edge: words, meta, code.   meta = instance | index of the source << 20.
A kernel that follows (see `follow`) has one box of candidates, and between words and meta they have the survivors.
"""

from __future__ import annotations

MAX_SHARDS = 256
MAX_PROPERTIES = 62

# Context.
ENABLED = 0  # the state at hand has an enabled action
BROKEN = 1  # bit p: an edge broke property p (of the successor outside the constraint, or of the step)
DEADLOCKS = 2
SHARDS = 3
OUTCOMES = 4  # address of one u16 per instance (only in kernels that record outcomes)
WANTED = 5  # address of the mask words and value words that a successor must match (only in kernels that follow)
BOXES = 6
COUNTERS = BOXES + 2 * (1 + MAX_SHARDS)
OUTSIDE_COUNTER = 0  # the first counter: successors that break the state constraint; see `coverage` for the others

# Shard.
TABLE = 0  # address of the slots
MASK = 1  # number of slots - 1
STORE = 2  # address of the packed states
COUNT = 3
LIMIT = 4  # stop inserting when fewer than BLOCK states may be added
LEVEL_START = 5  # index of the first state of the level being built
ORIGIN = 6  # address of one u16 per state of that level: the least action that generated it
SHARD_FIELDS = 8

# Walks.
SEED = 0
WALK = 1  # number of the walk at hand
WALK_LIMIT = 2  # number of the first walk that is not asked for
MAX_STEPS = 3
STARTS = 4  # address of the packed initial states
START_COUNT = 5
JUDGED = 6  # mask of the properties of states that a walk must not break
DEADLOCK_JUDGED = 7  # whether a state without an enabled action is a violation
EDGES = 8  # address of the memory of box 0
CANDIDATES = 9  # and of that of box 1
TAKEN = 10  # address of one count per action: steps taken
PATH = 11  # address of one i64 per step: its instance; 0: they are not kept
STOP = 12  # set by another thread: end with the step at hand
START = 13  # index of the initial state of the walk at hand
LENGTH = 14  # steps of the walk at hand
STEPS = 15  # steps of all walks
SEEN = 16  # the bits of `check` of all states within the constraint
WALK_FIELDS = 17

BLOCK = 32  # candidates whose memory accesses overlap
INDEX_BITS = 40  # a slot is tag << 40 | index + 1; 0 is free
META_SHIFT = 20
NO_INSTANCE = (1 << META_SHIFT) - 1

# Edge codes: a mask of broken properties, OUTSIDE where the successor breaks the constraint; -1 - site for
# an error, or for the cut of a fair step; DEADLOCK.
OUTSIDE = 1 << 62
DEADLOCK = -(1 << 62)
