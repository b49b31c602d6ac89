"""The outbox and everything that makes a send happen once."""
