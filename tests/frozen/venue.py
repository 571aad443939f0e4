"""What the venue is and answers at the end of the story, and the requests that the client sent in it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from tests.frozen.story import Story
from tests.frozen.tables import given, queries, read

DIGITS = 16


def requests(story: Story) -> list[str]:
    """Return the signed bodies that the client sent, one a line, in the order in which each session sent them."""
    bodies = [session.intents.get(intent).body for session in story.sessions for intent in session.intents().index]
    return [body.decode() for body in bodies if body is not None]


def state(story: Story) -> dict[str, dict[str, str]]:
    """Return the hash of the state, and that of the answers to each query, with which a layout may be told from a rule.

    The answers are the bytes that came over the wire, for all sessions.
    """
    known = given(story)
    answers = {name: _digest(story, name, known) for name in queries(story.trader)}
    return {"venue": {"state": story.venue.control.state_hash()}, "answers": answers}


def _digest(story: Story, name: str, known: Mapping[str, Any]) -> str:
    pages = b"\n".join(page for session in story.sessions for page in read(name, known, session)().attrs["raw"].pages)
    return hashlib.sha256(pages).hexdigest()[:DIGITS]
