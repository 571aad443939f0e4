"""Mutation tests: small mistakes are planted in the source, one at a time, and the tests must notice.

Why a driver of our own: mutmut leaves out decorated functions, which here are nearly all rules of the venue and flows
of the client; cosmic-ray changes files in place, runs one whole test command for each mutant, and has no samples. This
one traces the tests once, draws a seeded sample, plants a mutant by an import hook in a forked process (no file is
changed), and runs the quick tests that run its statement until one fails.

    python -m tests.mutation                        a sample of each room; .ci/run takes a smaller one
    python -m tests.mutation --room checks --whole  every mutant of a room
"""
