"""Microsoft 365 and Outlook.com through Microsoft Graph.

Every request asks for immutable ids, so a ref stays valid wherever a message is moved. What the service rejects in one
request ($search with $filter, an order that its filter does not begin with) is planned around in `search`; what it
cannot express is decided here. Sending is a draft that is sent as it is; Graph's own replies and forwards are `native`.
"""
