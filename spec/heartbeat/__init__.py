"""KIP-343, controller heartbeats over ZooKeeper: incarnations, two leases, ISR changes by way of the controller.

Read in this order: `design` (constants and switches), `types`, `state`, `initial`; `decisions` (pure: `leases`,
`registry`, `partition`, `processes`); `actions` (`heartbeat`, `registration`, `control`, `isr`, `replica`, `faults`);
`properties`, `models` and `gallery`. `timed` has the two timers of one lease, with clocks; `abstract_isr` says which
partition of `spec.replication` a cluster implements.

Out of scope: reassignment, topic deletion, unclean election, log directories, throttling; a pause between looking at
the clock and answering; the form of requests (a negative id, an empty ISR), which no broker of the spec gets wrong.
"""
