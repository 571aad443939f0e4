"""`toolkit mcp`: serves a session to language-model agents, over the Model Context Protocol on standard input.

Keys are read from the environment (TOOLKIT_AGENT_KEY) and stay in this process. The local venue is the default. Testnet
needs --limits. Mainnet is only read. A limits file is TOML, with the names of toolkit.Limits:

    max_notional = 5000
    max_daily_loss = 200
    symbols = ["BTCUSDC"]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ...environments import PRESETS
from ...errors import InputError
from ...session import Session, connect
from ...wallet import Wallet
from ..running.opening import account_of, open_local, read_limits


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of the command.
    """
    add = parser.add_argument
    add("--env", default="local", choices=sorted(PRESETS), help="environment (local)")
    add("--limits", type=Path, metavar="FILE", help="TOML file of limits (Testnet needs one)")
    add("--url", metavar="URL", help="a local venue that is served there, instead of one in this process")
    add("--account", metavar="WHO", help="number, name or address of the account (for Mainnet its address)")
    add("--clock", default="manual", choices=("manual", "real"), help="of a venue in this process (manual)")
    add("--seed", type=int, default=7, help="of a venue in this process (7)")


def run(args: argparse.Namespace) -> int:
    """Serve until standard input ends, and return 0.

    Parameters
    ----------
    args : Namespace
        Parsed arguments of the command.
    """
    from ...extras import need

    need("mcp")
    import anyio
    from mcp.server.stdio import stdio_server

    from .server import build

    async def serve(session: Session) -> None:
        server = build(session)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    with open_for_agents(args) as session:
        anyio.run(serve, session)
    return 0


def open_for_agents(args: argparse.Namespace) -> Session:
    """Return the session that an agent may use.

    Parameters
    ----------
    args : Namespace
        Parsed arguments of the command.

    Raises
    ------
    InputError
        For Testnet without limits that bound positions.
    """
    limits = None if args.limits is None else read_limits(args.limits)
    if args.env == "local":
        venue: dict[str, Any] = {} if args.url else {"clock": args.clock, "seed": args.seed}
        return open_local(args.url, args.account, limits=limits, **venue)
    account = account_of(args.account)
    # Without a wallet nothing can be signed, whatever an agent asks for.
    if args.env == "mainnet":
        return connect("mainnet", account=account)
    if limits is None or (limits.max_notional is None and limits.max_position is None):
        what = f"an agent on {args.env} needs limits: --limits FILE, with max_notional or max_position in it"
        raise InputError(what, field="limits", rule="required")
    return connect(args.env, wallet=Wallet.from_env(), account=account, limits=limits)
