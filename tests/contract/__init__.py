"""One suite for every provider: the same tests over each rig. A rig knows its provider, a test never does."""
