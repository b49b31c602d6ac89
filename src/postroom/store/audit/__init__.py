"""The hash-chained audit log and its copy on disk."""
