from toolkit.client.stream.stream import Stream

LIVE_NAMES = tuple(
    name
    for name, member in vars(Stream).items()
    if name[0] != "_" and str(getattr(member, "__annotations__", {}).get("return")).startswith("Live")
)
"""Methods of a stream that return live objects."""
