"""Folders, their roles and where to look for a message."""
