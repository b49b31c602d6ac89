"""Messages, labels and drafts, from the wire to the model and back."""
