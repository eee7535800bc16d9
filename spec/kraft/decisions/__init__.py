"""Pure decisions that actions share: who leads a partition, and what the metadata log records."""
