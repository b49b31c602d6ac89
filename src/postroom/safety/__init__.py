"""Pure judgement: (Draft, Policy, Facts) -> Decision. No I/O, no clock, no provider; table-tested."""
