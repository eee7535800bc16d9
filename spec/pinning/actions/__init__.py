"""The steps of brokers, ZooKeeper and the operator, and the faults."""
