"""A reference of the venue's rules by somebody who has not seen the venue's code, and its comparison with the venue.

It was written from risk rules, specification, published facts and docs/assumptions.md alone. Read besides: the wire's
declarations (`toolkit/protocol`), the names of the settings (`Config`, `Genesis`), the fixtures that sign requests and
subscribe to the feed, and of the older reference the driver, the random steps and the names of its functions. Where
the two came to different results and the texts were open, the venue's code was read as well. The venue's ruling then
stands in docs/assumptions.md, and in that point both may share a mistake: `differences.md` names each.

The differences that were found, each with who was right, are in `differences.md`.
"""
