"""The one way out: orders, the gate, the outbox and the worker that empties it."""
