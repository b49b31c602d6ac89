"""Approval requests as files that a person can read and edit."""
