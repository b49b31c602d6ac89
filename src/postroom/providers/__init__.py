"""Mailboxes of every kind behind one seam.

`protocol` says what a provider must and may have; `registry` names them, one line each, imported lazily; `layers`
are coats any of them can wear. A provider knows the model, `mime`, `index` and its own wire, never another provider,
the gate or a door. Vendor names stay in each provider's `wire.py`.
"""
