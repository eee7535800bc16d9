"""The names of topics, as Kafka has them (Topic.validate)."""

import re

LEGAL_NAME = re.compile(r"(?!\.{1,2}\Z)[a-zA-Z0-9._-]{1,249}\Z")
"""What is also the name of a folder, and stays within the one that it is in."""
