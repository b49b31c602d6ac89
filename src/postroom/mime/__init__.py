"""Bytes to model and back: parse, compose, HTML to compact Markdown, quoted history, hidden text.

Parsing never raises and is bounded in time, size, parts and depth; `guarded` is the way in for mail of any size.
Nothing here touches a network, a disk or a clock it was not given. A stranger's headers are never written out again: a
forward carries the original as it came.
"""
