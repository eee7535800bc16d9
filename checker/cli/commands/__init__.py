"""The commands, each in a module of its name, its words in `X_text`; `checker.cli.main` loads the one called."""
