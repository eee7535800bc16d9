"""KIP-631, the quorum-based controller: brokers, the ISR of partitions, the controllers, what operators ask for.

Read in this order: `design` (constants and switches), `types`, `messages`, `state`, `partition` and `shutdown` (pure
decisions), `log`, `controller`, `broker`, `replica`, `network`, `faults`, `quorum`, `snapshot`, the properties and
witnesses, `liveness`, `starts`, `models`; then `administration`, `topics` and `clients` with `lives`, and the
properties and models that are called after them; `models_failover` and `models_full` last. `timed` stands alone: a
lease in time.
"""
