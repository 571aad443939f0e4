"""The published interface as a suite that anyone can run: `python -m tests.conformance URL`.

It imports nothing of the toolkit. Its signer, its protobuf encoder and its tables were written from the interface's
documents alone, so that it can judge any venue, and any client's idea of one.
"""
