"""KIP-268: Kafka Streams' rebalance metadata and its upgrade, as cores without I/O, and what runs them."""
