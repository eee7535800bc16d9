"""KIP-631, the quorum-based controller: the membership of brokers, the ISR of one partition, the controllers.

Read in this order: `design` (constants and switches), `types`, `messages`, `state`, `partition` (pure
decisions), `log`, `controller`, `broker`, `replica`, `network`, `faults`, `quorum`, `snapshot`, the properties and
witnesses, `models`.
"""
