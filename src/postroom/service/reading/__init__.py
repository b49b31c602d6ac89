"""Find and read messages."""
