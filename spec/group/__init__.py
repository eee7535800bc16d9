"""The consumer coordinator: brokers that elect one, consumers that it pings, and a rebalance of their groups.

The document is an obsolete draft of before Kafka 0.9. Read in this order: `design` (constants and switches), `types`,
`messages`, `state`, `initial`; `decisions` (pure: `assignment`, `channels`, `registry`); `actions` (`coordinator`,
`startup`, `failure`, `rebalance`, `fetching`); `properties` and `models`. What holds of ZooKeeper is
in `spec.zookeeper`.
"""
