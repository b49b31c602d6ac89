"""Where a person must approve a message: requests, decisions, files written by hand."""
