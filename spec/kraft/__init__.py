"""KIP-631, the quorum-based controller: first slice, the membership of brokers and the ISR of one partition.

Read in this order: `design` (constants and switches), `types`, `messages`, `state`, `partition` (pure
decisions), `controller`, `broker`, `replica`, `network`, `faults`, `properties`, `witnesses`, `models`.
"""
