"""Mailboxes of every kind behind one interface.

`protocol` says what a provider must and may have; `registry` names them, one line each, imported lazily; `layers`
can wrap any of them. A provider knows the model, `mime`, `index` and its own protocol, never another provider,
the gate or a door. Vendor names stay in each provider's `wire.py`.
"""
