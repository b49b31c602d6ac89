"""The domain types: frozen dataclasses, standard library only, no I/O.

Glossary
- Account: one mailbox with its credentials, named by the operator.
- Folder: a place in a mailbox; its Role says what it is for.
- Envelope: a message as one line of a list.  Message: the same, opened.  Thread: envelopes that reply to each other.
- Draft: a message as its author writes it.  File: an attachment to be sent.  Identity: an address one may send as.
- Query: a search, parsed.  Page: a slice of its results.
- ref: a provider's own id.  handle: the short id given to a language model.
- Outcome: the result, per item (ItemResult) or per submission (SubmitOutcome).
- Finding, Decision: what the gate's checks found, and what follows from it.
"""
