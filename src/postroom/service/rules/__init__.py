"""Rules: what somebody wrote down once and wants done with messages again and again.

A rule is read from YAML (`document`), finds its messages (`narrowing` asks the provider for as few as possible,
`judging` decides each one here, so that every provider gives the same answer), and becomes a plan that pins messages
and actions (`planning`). Running carries out exactly a plan (`running`), by request or by schedule (`scheduling`).
Messages are changed only through `organising`, and forwarded only through the gate in `sending`.
"""
