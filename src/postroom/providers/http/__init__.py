"""HTTP for every provider that uses it: one client, one mapping of failures, one rate limit.

`client.new_client` makes the connection pool; `Api` sends requests to one service with the account's token and turns
every failure into `model.errors`. Reading is retried here, request by request; writing never is. What differs between
services (the shape of their errors, the cost of a call) is passed in. Message content, tokens and a server's free text
never get into an error message.
"""
