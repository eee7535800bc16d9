"""The steps of members, of the coordinator, of the operator, and the faults."""
