"""Templates: messages written once, as files, and filled in with values.

A template is data. Its engine replaces ``{{ name }}`` and leaves out what stands between ``{{ if name }}`` and
``{{ end }}``; there is no code, no attribute and no second file. Nothing here composes or sends a message.
"""
