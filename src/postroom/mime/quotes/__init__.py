"""Quoted history: what a message repeats of earlier ones."""
