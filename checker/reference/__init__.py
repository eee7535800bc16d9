"""The reference semantics: a spec run as plain Python, one state at a time. Every engine is held to it."""
