"""The records of `__cluster_metadata` as bytes, by tables of Kafka's schemas; and as those that the cores replay."""
