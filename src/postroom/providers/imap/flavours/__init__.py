"""What differs between servers: search keys, keywords, Gmail's extensions."""
