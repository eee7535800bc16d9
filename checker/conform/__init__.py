"""Conformance: a spec and a system under test, explored as a product."""
