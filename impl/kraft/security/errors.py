"""What is raised where somebody is not who they say."""

from __future__ import annotations


class AuthenticationError(Exception):
    """Somebody has not shown who they are. The message is theirs to read, and tells nothing that helps to guess."""
