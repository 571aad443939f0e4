"""Answers without what names a person: addresses, hashes and free text become numbered stand-ins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_HEX = re.compile(r"(0[xX])([0-9a-fA-F]{6,})|(?<![0-9a-zA-Z])([0-9a-fA-F]{24,})(?![0-9a-zA-Z])")
"""Hex digits after 0x, or many of them: also what is left of an address where a text was cut."""
_NAMES = frozenset(
    ("agentName", "vaultName", "description", "referralCode", "inviterCode", "reference", "nonce", "signature")
)
"""Members that hold words, numbers or signatures of a person."""


class StandIns:
    """Replaces each address, hash or key by a number of the same form; the same one always by the same number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def clean(self, value: Any) -> Any:
        """Return a decoded answer with stand-ins."""
        if isinstance(value, str):
            return _HEX.sub(self._stand_in, value)
        if isinstance(value, Mapping):
            return {
                self.clean(name): self._named(item) if name in _NAMES else self.clean(item)
                for name, item in value.items()
            }
        return [self.clean(item) for item in value] if isinstance(value, list | tuple) else value

    def _stand_in(self, found: re.Match[str]) -> str:
        prefix, digits = found[1] or "", found[2] or found[3]
        number = self._numbers.setdefault(digits.lower(), len(self._numbers) + 1)
        text = f"{number:0{len(digits)}x}"
        return prefix + (text.upper() if digits.isupper() else text)

    @staticmethod
    def _named(value: Any) -> Any:
        if isinstance(value, str):
            return "text" if value else ""
        return 0 if isinstance(value, int | float) else None
