"""The consumer coordinator: brokers that elect one, and consumers whose groups it rebalances, over ZooKeeper."""
