"""HTTP for every provider that speaks it: one client, one reading of failures, one pace.

`client.new_client` makes the connection pool; `Api` sends requests to one service with the account's token and turns
every failure into `model.errors`. Reading is retried here, request by request; writing never is. What differs between
services (the shape of their errors, the cost of a call) is handed in. Mail content, tokens and a server's free text
never get into a message.
"""
