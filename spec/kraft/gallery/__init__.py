"""Bugs of Kafka's history and holes of KIP-631, each with the guard that keeps the model free of it.

`fencepost gallery` switches the guard off, looks for the counterexample and writes the page. Each is shown on the
model where its story is shortest; what is said here of Kafka's versions is from its KIPs, issues and source.
"""

from spec.kraft.gallery import administration, logs, quorum, raft, replication, shutdown

BUGS = [*replication.BUGS, *quorum.BUGS, *raft.BUGS, *shutdown.BUGS, *administration.BUGS, *logs.BUGS]
