"""`toolkit sign`: unsigned requests in, signed envelopes out, one JSON a line.

A line is {"action": …, "nonce": …, "expiryAfter": …, "vaultAddress": …}, the last two optional. The key comes from
an environment variable and signs every line, whether masters or agents sign that action. A line that can't be signed
gives {"error": …, "field": …} and exit code 1.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from ..environments import PRESETS
from ..protocol import envelope, signing
from ..protocol.orders.names import ActionField
from . import add_environment, answer_lines


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of the command.
    """
    add_environment(parser)
    parser.add_argument("--key-env", required=True, metavar="NAME", help="environment variable with the private key")


def run(args: argparse.Namespace) -> int:
    """Sign standard input.

    Return 1 when a line was bad, else 0.

    Parameters
    ----------
    args : Namespace
        Parsed arguments of the command.

    Raises
    ------
    WalletError
        For a key that can't be used.
    """
    chain = PRESETS[args.env].chain
    key = signing.PrivateKey.from_env(args.key_env)

    def answer(line: bytes) -> Mapping[str, Any]:
        document = envelope.decode(line)
        envelope.read_unsigned(document)
        return signing.sign(
            document["action"],
            key=key,
            chain=chain,
            nonce=document["nonce"],
            expiry_after=document.get(ActionField.EXPIRY),
            vault_address=document.get(ActionField.VAULT),
        )

    return answer_lines(answer)
