"""Decisions that several actions share. Pure: they read the state and return what is to be written."""
