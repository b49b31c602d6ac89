"""Queries: what is sent to the service, and what is decided here."""
