"""Files that only their owner can read: the control token next to a journal, and the keys of the accounts."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ...environments import LOCAL
from ...errors import InputError
from ...stored import writing
from .. import development
from .venue_routes import account_name


def write_private(path: str | Path, text: str) -> None:
    """Write a file that only its owner can read, in place of one that is there.

    It has mode 0600, and is never readable by others, not even briefly. On Windows the folder decides who can read it.

    Parameters
    ----------
    path : str or Path
        File to write.
    text : str
        Content of the file.

    Raises
    ------
    InputError
        If the path can't be written.
    """
    try:
        writing.write_private(path, text, replace=True)
    except OSError as error:
        raise InputError(f"{path} can't be written: {error.strerror}", field="path", value=str(path)) from None


def token_path(journal: str | Path) -> Path:
    """Return where the control token of a venue with this journal is kept.

    Parameters
    ----------
    journal : str or Path
        File of the venue's journal.
    """
    return Path(f"{os.fspath(journal)}.token")


def keys_text(count: int, balance: str, mnemonic: str, base_url: str, ws_url: str) -> str:
    """Return the text of a keys file: where the venue is, and the keys of its first accounts, as JSON.

    Parameters
    ----------
    count : int
        Number of accounts.
    balance : str
        First balance of each in USDC.
    mnemonic : str
        Words that the keys are derived from.
    base_url : str
        HTTP address of the venue.
    ws_url : str
        WebSocket address of the venue, without the path of the feed.
    """
    rows = [
        {
            "number": number,
            "name": account_name(number),
            "balance": balance,
            "master": _with_key(development.master(number, mnemonic)),
            "agent": _with_key(development.agent(number, mnemonic)),
        }
        for number in range(count)
    ]
    where = {"base_url": base_url, "ws_url": f"{ws_url}/ws/dex", "chain_id": LOCAL.chain.chain_id}
    return json.dumps({**where, "dex_chain": LOCAL.chain.dex_chain, "mnemonic": mnemonic, "accounts": rows}, indent=1)


def _with_key(account: development.DevelopmentAccount) -> dict[str, str]:
    return {"address": account.address, "private_key": f"0x{account.key.hex()}"}
