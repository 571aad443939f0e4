"""`toolkit verify`: signed envelopes in, {"signer": "0x…"} out, one JSON a line.

A line is a whole request: {"action": …, "signature": {"r": …, "s": …, "v": …}, "nonce": …}, with expiryAfter and
vaultAddress where it has them. A line that can't be read gives {"error": …, "field": …} and exit code 1.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from ..environments import PRESETS
from ..protocol import envelope, signing
from . import add_environment, answer_lines


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of the command.
    """
    add_environment(parser)


def run(args: argparse.Namespace) -> int:
    """Print the signer of each line of standard input.

    Returns 0, or 1 if a line was bad.

    Parameters
    ----------
    args : Namespace
        Parsed arguments of the command.
    """
    chain = PRESETS[args.env].chain

    def answer(line: bytes) -> Mapping[str, Any]:
        return {"signer": signing.recover(envelope.parse(line), chain)}

    return answer_lines(answer)
