"""Submission over SMTP."""
