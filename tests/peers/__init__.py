"""How the real servers are started: one module each, state in a temporary folder, free loopback ports.

A peer that is not installed skips its tests with the reason; with ``CI=true`` that is a failure instead.
"""
