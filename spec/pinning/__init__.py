"""KIP-39, pinning the controller to a broker: brokers, their watches, the election over ZooKeeper, an operator.

Read in this order: `design` (constants and switches), `types`, `state`, `initial`; `decisions` (pure: `office`,
`watching`); `actions` (`operator`, `target`, `election`, `office`, `sessions`, `faults`, `preferred`, `rolling`);
`properties`, `models` and `gallery`. What it takes from ZooKeeper is in `spec.zookeeper`.
"""
