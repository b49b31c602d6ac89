"""HTML to the text that a reader sees, and its links."""
