"""Actions of KIP-343: brokers, controllers, ZooKeeper, and faults."""
