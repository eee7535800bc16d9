"""KIP-631, the quorum-based controller: the membership of brokers, the ISR of partitions, and what operators ask for.

Read in this order: `design` (constants and switches), `types`, `messages`, `state`, `partition` (pure
decisions), `controller`, `broker`, `replica`, `network`, `faults`, `properties`, `witnesses`, `models`; then
`administration`, `topics` and `clients` with `lives`, and the properties and models that are called after them.
"""
