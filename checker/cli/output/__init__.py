"""Output that commands share: progress, tables, verdicts, traces, JSON."""
