"""KIP-631, the quorum-based controller: brokers, the ISR of partitions, the controllers, requests of operators.

Read in this order: `design` (constants and switches), `types`, `messages`, `metadata`, `processes`, `state`, `initial`;
`decisions` (pure: `partition`, `membership`, `log`); `actions` (`controller`, `broker`, `replica`, `shutdown`,
`network`, `faults`, `quorum`, `snapshot`, then `administration`, `topics`, `clients` and `coarse_lifecycle`);
`properties`, `models` and `gallery`, whose files are called after the actions. `timed`, `replica_logs`, `quorum_log`
and `raft` stand alone: a lease in time, the logs of replicas with leader epochs, the quorum's log on one page, and the
quorum by messages, disks and crashes. `abstract_isr` says which partition of `spec.replication` a cluster implements.
"""
