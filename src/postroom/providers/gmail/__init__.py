"""Gmail through its own API.

A label is Gmail's only way to file a message, so folders and labels are one set here: `mail/labels.py` says which
label is which folder. What is to be sent is staged as a draft first, so that a lost response can be settled by looking.
"""
