"""What the fake web services share: a real socket on loopback, a record of every request, and faults on demand.

A new fake is a `peer.WebPeer` that says three things: the name of an operation (`operation_of`), the answer to a
request (`respond`, under the lock, after the request was recorded), and how a fault looks that a test asked for
(`error`). A mistake within `respond` is answered with 500 and fails the test that ran the fake.
"""
