"""Output of the commands: terminal, JSON, JUnit and Markdown."""
