"""Move, flag, label and delete messages, singly or in batches, and undo it."""
