"""Mutation tests: small mistakes are planted in the source, one at a time, and the tests must notice.

Why a driver of our own: mutmut leaves out decorated functions, which here are nearly all rules of the venue and flows
of the client; cosmic-ray changes files in place, runs one whole test command for each mutant, and has no samples. This
one traces the tests once, draws a seeded sample, and runs the quick tests that run a mutant's statement until one
fails, in a process forked from one that has collected them all: there the function gets its code with the mistake, and
no file is changed. A mistake in what an import runs is planted by an import hook, in a process that imports everything.

    python -m tests.mutation                        a sample of each room; .ci/run takes some rooms in turn
    python -m tests.mutation --room checks --whole  every mutant of a room
"""
