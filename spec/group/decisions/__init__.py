"""Pure decisions: who gets which partition, what becomes of a connection, what the coordinator's memory becomes."""
