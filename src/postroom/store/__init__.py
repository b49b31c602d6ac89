"""Durable state: handles, the journal that undo reads, and everything that makes sending safe.

Embedded in one SQLite file (WAL), shared by every process of one machine. Knows no provider and no mail content beyond
what it must keep to keep its promises.
"""
