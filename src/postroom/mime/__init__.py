"""Bytes to model and back: parse, compose, HTML to compact Markdown, quoted history, hidden text.

Parsing never raises and is bounded in time, size, parts and depth; `guarded` is the entry point for messages of any
size. Nothing here uses a network, a disk or a clock it was not given. Received headers are never written out again: a
forward contains the original unchanged.
"""
