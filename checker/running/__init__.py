"""Support for long work: limits, deadlines, interrupts, memory."""
