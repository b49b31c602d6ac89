"""Queries in Gmail's search language."""
