"""Processes that read messages: in bulk, or stopped at a deadline."""
