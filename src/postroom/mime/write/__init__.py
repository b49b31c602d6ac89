"""Model to bytes: new messages, replies, forwards."""
