"""KIP-631, the quorum-based controller: the membership of brokers, controlled shutdown, the ISR of one partition.

Read in this order: `design` (constants and switches), `types`, `messages`, `state`, `partition` and `shutdown` (pure
decisions), `controller`, `broker`, `replica`, `network`, `faults`, `properties`, `shutdown_properties`, `liveness`,
`witnesses`, `models`. `timed` stands alone: a lease in time.
"""
