"""Compose messages and keep drafts."""
