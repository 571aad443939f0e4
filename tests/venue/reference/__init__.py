"""A reference of the venue's rules by an author who had not seen the venue's code, and its comparison with the venue.

It was written from risk rules, specification, published facts and docs/assumptions.md alone, and shares no rule with
the venue. Where the texts were open and the two came to different results, the venue's code was read as well. The
ruling then stands in docs/assumptions.md, and in that point both may share a mistake: `differences.md` names each.

Read the rules in this order: `books` (records and formulas), `money` (ledger, fees, margin), `matching` (trades),
`rules` (orders), `liquidation`, `clock` (time), `programs` (agents, builders, vaults), `wire` (signed actions). They
are written to be read, not to be fast. `shown` and `feeds` write what the venue shows. `driver`, `steps`,
`programs_steps` and `runs` take both through the same random steps.
"""
