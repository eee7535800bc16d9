"""Adapters, one package a design: each drives an implementation as the conformance engine asks."""
