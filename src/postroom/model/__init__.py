"""The words of the house: frozen dataclasses, standard library only, no I/O.

Glossary
- Account: one mailbox with its credentials, named by the operator.
- Folder: a place in a mailbox; its Role says what it is for.
- Envelope: a mail as one line of a list.  Message: the same mail, opened.  Thread: envelopes that answer each other.
- Draft: a mail as its author means it.  File: an attachment on its way out.  Identity: an address one may write as.
- Query: a search, parsed.  Page: a slice of its results.
- ref: a provider's own id.  handle: the short id given to a language model.
- Outcome: what came of it, per item (ItemResult) or per submission (SubmitOutcome).
- Finding, Decision: what the gate's judges noticed, and what follows.
"""
