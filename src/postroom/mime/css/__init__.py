"""The part of CSS that decides whether text is visible."""
