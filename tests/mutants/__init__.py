"""Would the tests notice? Each mutant is the code with one small fault; a test that fails on it has killed it.

`make mutants` runs them. The working tree is never written to: a mutant lives in a forked process only.
"""
