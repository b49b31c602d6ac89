"""A mailbox behind the small REST API that the dialect `mailapi` was written for; see docs/providers/rest.md.

The API lists messages without their copies, attachments and Message-IDs, and opens them without their flags and their
mailbox. `details` and `places` supply what is missing, with as few further requests as possible.
"""
