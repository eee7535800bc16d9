"""The commands, a module for each family; `checker.cli` loads the one that is called."""
