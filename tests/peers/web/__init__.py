"""What the fake web services share: a real socket on loopback, a record of every request, and faults on demand."""
