"""Queries and threads over IMAP."""
