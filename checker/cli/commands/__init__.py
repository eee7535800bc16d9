"""The commands, a module for each family; `checker.cli.main` loads the one that is called."""
