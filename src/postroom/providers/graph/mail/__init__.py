"""Messages and folders: read, organised, written."""
