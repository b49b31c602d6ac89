"""As much of CSS as decides whether text is seen."""
