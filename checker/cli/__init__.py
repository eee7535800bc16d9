"""The `fencepost` command: entry point, options, one file per command, and its output."""
