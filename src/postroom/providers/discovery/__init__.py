"""From an email address to its servers: a built-in table, what the domain publishes, usual names.

`finding.find` asks in that order. All network access goes through the functions of `Reach`, so a test can block it.
Only encrypted servers are ever found, nothing is logged in to, and no provider package is named here.
"""
