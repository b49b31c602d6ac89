"""From a mail address to its servers: what we know, what its domain publishes, what its name suggests.

`finding.find` asks in that order. Every way out of the machine is one of the functions of `Reach`, so a test can close
them all. Only encrypted servers are ever found, nothing is logged in to, and no provider package is named here.
"""
