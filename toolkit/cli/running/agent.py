"""`toolkit agent renew`: approves an agent again before its approval ends, signed by the master key.

The agent keeps its key, its name and its open orders, so that a run which trades with it goes on. The master key is
read from the environment (TOOLKIT_MASTER_KEY), and the agent from --agent, or from its key (TOOLKIT_AGENT_KEY).

To change the key without a gap, approve the new agent beside the old one (`session.exchange.approve_agent()` in a
session that has it: agents have names of their own), start the run again with it, then revoke the old one
(`session.permissions.revoke(address)`).
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import Any

from ...errors import InputError, WalletError
from ...session import Session, connect
from ...wallet import AGENT_VARIABLE, MASTER_VARIABLE, Wallet
from .opening import account_of

MOST_DAYS = 365


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of the command.
    """
    add = parser.add_argument
    add("what", choices=("renew",), help="renew: approve it again, under the same name")
    add("--env", choices=("local", "testnet", "mainnet"), default="testnet", help="environment (testnet)")
    add("--base-url", metavar="URL", help="another address of it, e.g. http://127.0.0.1:8645")
    add("--account", metavar="WHO", help="at a served local venue the number of the account (0)")
    add("--agent", metavar="ADDRESS", help="the agent's address (default: that of its key)")
    add("--days", type=float, default=7.0, help=f"how long it is approved from now, up to {MOST_DAYS} (7)")
    add("--agent-key-env", metavar="NAME", default=AGENT_VARIABLE, help="variable of the agent key")
    add("--master-key-env", metavar="NAME", default=MASTER_VARIABLE, help="variable of the master key")


def run(args: argparse.Namespace) -> int:
    """Approve the agent again, and print until when. Returns 0.

    Parameters
    ----------
    args : Namespace
        Parsed arguments of the command.

    Raises
    ------
    InputError
        For a number of days that no approval can have.
    WalletError
        Without a master key, and for an agent that the account has not approved.
    """
    if not 0 < args.days <= MOST_DAYS:
        what = f"--days is {args.days:g}. An approval lasts up to {MOST_DAYS} days: give more than 0"
        raise InputError(what, field="days", rule="1 to 365", value=args.days)
    with _opened(args) as session:
        wallet = session.wallet
        if wallet is None or not wallet.master:
            raise WalletError(f"an approval is signed by the master: set {args.master_key_env}")
        agent = args.agent or wallet.agent
        if not agent:
            raise WalletError(f"give --agent ADDRESS, or set {args.agent_key_env}")
        known = session.permissions(ended=True)
        own = known[(known["kind"] == "agent") & (known["address"].str.lower() == str(agent).lower())]
        if own.empty:
            raise WalletError(f"{session.account} has approved no agent {agent}. approve_agent() does that, once")
        name = str(own.iloc[0]["name"])
        seconds = round(args.days * 86_400)
        session.exchange.approve_agent(str(agent), name, validity_seconds=seconds)
        until = datetime.fromtimestamp(session.clock.now_ms() / 1000 + seconds, UTC)
        print(f"agent {agent} of {session.account} is approved as {name!r} until {until:%Y-%m-%d %H:%M} UTC")
    return 0


def _opened(args: argparse.Namespace) -> Session:
    options: dict[str, Any] = {"base_url": args.base_url} if args.base_url else {}
    if args.env == "local":
        account = args.account or "0"
        return connect("local", account=account_of(account), **options)
    return connect(args.env, wallet=Wallet.from_env(args.agent_key_env, args.master_key_env), **options)
