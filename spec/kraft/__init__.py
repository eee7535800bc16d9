"""KIP-631, the quorum-based controller: the membership of brokers, controlled shutdown, the ISR, the controllers.

Read in this order: `design` (constants and switches), `types`, `messages`, `state`, `partition` and `shutdown` (pure
decisions), `log`, `controller`, `broker`, `replica`, `network`, `faults`, `quorum`, `snapshot`, the properties and
witnesses, `liveness`, `models`. `timed` stands alone: a lease in time.
"""
