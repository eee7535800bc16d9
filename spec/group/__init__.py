"""The consumer coordinator: brokers that elect one, consumers that it pings, and a rebalance of their groups.

The document is an obsolete draft of before Kafka 0.9. Read in this order: `design` (constants and switches), `types`,
`messages`, `state`, `initial`; `decisions` (pure: `assignment`, `channels`, `registry`); `actions` (`coordinator`,
`startup`, `failure`, `rebalance`, `fetching`, `offsets`, `pings`, `shutdown`, `topics`; `sockets` is the protocol of
section 2); `properties`, `models` and `gallery`. `timed` is a model of its own: one session, in time. What holds of
ZooKeeper is in `spec.zookeeper`.
"""
