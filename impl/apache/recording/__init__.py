"""A real cluster of a released Apache Kafka, driven through faults, and its decisions as a trace."""
