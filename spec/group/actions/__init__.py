"""The steps of brokers, consumers and ZooKeeper, and the faults."""
