"""From the server into the mirror: the first fill, and then every change."""
