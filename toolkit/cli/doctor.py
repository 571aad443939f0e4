"""`toolkit doctor`: checks what usually goes wrong, and says what to do next. It never shows a key."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from .. import errors
from ..checks import MIN_DEPOSIT
from ..client.io.flow import Driver, Fetch
from ..client.io.nonce_sources import LEAD_MS, data_directory, state_directory
from ..client.io.route import SECURE, Route
from ..client.io.transport import NO_RETRY, HttpTransport, describe_clock_skew, read, venue_time
from ..client.reads.catalogue import PATH
from ..client.reads.reading import approvals_of, fetch_rows, known
from ..environments import FURTHER_ADDRESSES, Environment
from ..errors import ExchangeError, NotSent, ToolkitError, TransportError, WalletError
from ..ethereum import ADVICE, MISSING, has_eth_account
from ..extras import DISTRIBUTION, EXTRAS, install_line
from ..protocol.reads.door import legible
from ..protocol.reads.info.accounts import WALLET_BALANCES, AccountAgent, AccountWallet
from . import wrapped

if TYPE_CHECKING:
    from ..session import Session
    from ..wallet import Wallet

PACKAGES = ("pandas", "httpx", "btclib-libsecp256k1", "protobuf", "websockets")
FIRST_PYTHON, LAST_PYTHON = (3, 11), (3, 14)
"""The Pythons that the whole toolkit is tested on."""
OPTIONAL = ("ipywidgets", "anywidget", "matplotlib", "pyarrow")
"""Packages that not every user needs."""
NOT_OURS = ("test", "docs")
"""Extras whose versions matter to those alone who work on the toolkit."""
CA_BUNDLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Variables that other programs read certificates from."""
SKEW_WARN_MS = 2_000
SKEW_FAIL_MS = 30_000
"""Half of the default expiry of an order (a minute): with a clock that wrong, orders may expire on arrival."""
DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One result.

    Attributes
    ----------
    name : str
        What was looked at.
    state : str
        "ok", "note", "warn" or "fail".
    text : str
        What was found.
    advice : str
        What to do about it.
    """

    name: str
    state: str
    text: str
    advice: str = ""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of the command.
    """
    add = parser.add_argument
    add("--env", choices=("local", "testnet", "mainnet"), default="local", help="environment to look at")
    add("--base-url", metavar="URL", help="another address of it, e.g. http://127.0.0.1:8645")
    add("--ws-url", metavar="URL", help="address of the feed (default: from --base-url at a local venue)")
    add("--keyfile", type=Path, metavar="FILE", help="the agent's encrypted key file (prompts for its password)")
    add("--keyring", metavar="NAME", help="name of the agent key in the system's keyring")
    add("--agent-key-env", metavar="NAME", default="TOOLKIT_AGENT_KEY", help="variable of the agent key")
    add("--master-key-env", metavar="NAME", default="TOOLKIT_MASTER_KEY", help="variable of the master key")
    add("--account", metavar="ADDRESS", help="the master's address, where no key implies it")
    add("--timeout", type=float, default=5.0, help="seconds to wait for an answer (default 5)")


def run(args: argparse.Namespace) -> int:
    """Print the findings.

    Return 0 when nothing is broken, 1 otherwise.

    Parameters
    ----------
    args : Namespace
        Parsed arguments of the command.
    """
    findings = []
    for finding in _look(args):
        mark = {"ok": "ok  ", "note": "note", "warn": "WARN", "fail": "FAIL"}[finding.state]
        wrapped(finding.text, f"  {mark}  {finding.name:<12} ", least=60)
        findings.append(finding)
    steps = [finding for finding in findings if finding.advice and finding.state in ("warn", "fail")]
    print("\nNext steps")
    for number, finding in enumerate(steps, 1):
        wrapped(f"{finding.name}: {finding.advice}", f"  {number}. ", least=60)
    if any(finding.state == "fail" for finding in findings):
        return 1
    ready = "trade: python -m toolkit quickstart shows how, python -m toolkit lab opens the walkthroughs"
    wrapped(ready, f"  {len(steps) + 1}. ", least=60)
    return 0


def _look(args: argparse.Namespace) -> Iterator[Finding]:
    """Yield every finding: about this machine, the keys, and the environment."""
    from ..session import connect

    yield from versions()
    yield from folders()
    if args.keyfile is not None or args.keyring is not None:
        wallet, finding = kept_key(args.keyfile, args.keyring, args.account)
    else:
        wallet, finding = keys(args.agent_key_env, args.master_key_env, args.account, os.environ)
    yield finding
    account = args.account if wallet is None else None
    where = {"base_url": args.base_url, "ws_url": args.ws_url, "timeout": args.timeout}
    try:
        session = connect(args.env, wallet=wallet, account=account, retry=NO_RETRY, **where)
    except ToolkitError as error:
        yield Finding("environment", "fail", str(error), "correct the arguments above")
        return
    with session:
        reached = yield from examine(session, os.environ)
        if reached:
            yield feed(session, args.timeout)


def versions() -> Iterator[Finding]:
    """Look at Python and the packages this runs on."""
    from .. import __version__
    from ..protocol.actions import INTERFACE_VERSION

    if not FIRST_PYTHON <= sys.version_info[:2] <= LAST_PYTHON:
        text = f"{platform.python_version()} is not one that the whole toolkit is tested on"
        yield Finding("python", "warn", text, "use Python 3.11, 3.12, 3.13 or 3.14")
    if not has_eth_account():
        works = "Key files work without it, mnemonics and class rooms need it"
        yield Finding("eth-account", "note", f"{MISSING}. {works}", ADVICE)
    found, missing, without = [], [], set()
    signing = ("eth-account",) if has_eth_account() else ("eth-keyfile",)
    for name in (*PACKAGES, *signing, *OPTIONAL):
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            if name in OPTIONAL:
                without.add(EXTRAS[name][0])
            else:
                missing.append(name)
    python = f"Python {platform.python_version()} on {platform.system()}"
    text = f"toolkit {__version__}, interface {INTERFACE_VERSION}, {python}, {', '.join(found)}"
    yield Finding("versions", "ok", text)
    if without:
        names = ",".join(sorted(without))
        advice = f"for widgets and plots (notebook) or Parquet files (data): {install_line(*without)}"
        yield Finding("extras", "note", f"installed without {names}. Functions that need them say so", advice)
    if missing:
        advice = f"install the toolkit again in this Python: {install_line()}"
        yield Finding("packages", "fail", f"not installed: {', '.join(missing)}", advice)
    if old := list(dict.fromkeys(outdated())):
        text = ", ".join(f"{name} {found} is older than {minimum}" for name, found, minimum, _ in old)
        advice = f"pip replaces what is too old: {install_line(*(extra for *_, extra in old if extra))}"
        yield Finding("packages", "warn", text, advice)


def outdated() -> Iterator[tuple[str, str, str, str]]:
    """Yield name, version, lowest allowed version and extra ("" for none) of each package that is too old."""
    try:
        required = importlib.metadata.requires(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:  # used from its source, without an installation
        return
    for line in required:
        wanted, _, marker = line.partition(";")
        minimum = re.search(r">=([\d.]+)", wanted)
        needs = re.search(r"extra == ['\"](\w+)", marker)
        extra = needs[1] if needs else ""
        python = re.search(r"python_version (<|>=) ['\"]([\d.]+)", marker)
        of_another = python and (sys.version_info[:2] < _numbers(python[2])) != (python[1] == "<")
        if minimum is None or extra in NOT_OURS or of_another:
            continue
        name = re.split(r"[^\w.-]", wanted.strip())[0]
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        if _numbers(found) < _numbers(minimum[1]):
            # The metadata names a package of `notebook` under each extra that includes that one too.
            yield name, found, minimum[1], EXTRAS[name][0] if name in EXTRAS else extra


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def folders() -> Iterator[Finding]:
    """Look whether the folders can be written in which nonces, ledgers of intents and venues are kept between runs."""
    for folder in dict.fromkeys((state_directory(), data_directory())):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            text = f"{folder} can't be written ({error.strerror}): nonces are not shared, ledgers not kept"
            yield Finding("folders", "warn", text, "set TOOLKIT_STATE to a folder that can be written")


def keys(agent: str, master: str, account: str | None, variables: Mapping[str, str]) -> tuple[Wallet | None, Finding]:
    """Look for keys in environment variables.

    Addresses are shown, keys never.

    Parameters
    ----------
    agent : str
        Name of the variable of the agent key.
    master : str
        Name of the variable of the master key.
    account : str or None
        Address of the master, where no key implies it.
    variables : mapping of str to str
        Environment variables.
    """
    from ..wallet import Wallet

    if not variables.get(agent) and not variables.get(master):
        text = "no key given: reading works, trading does not (locally a development wallet trades)"
        advice = (
            "make one with toolkit.Wallet.create().save_keyfile('agent.json'), then: doctor --keyfile agent.json "
            f"(or --keyring NAME, or the environment variables {agent} and {master})"
        )
        return None, Finding("keys", "note", text, advice)
    try:
        wallet = Wallet.from_env(agent, master, account=account, variables=variables)
    except WalletError as error:
        return None, Finding("keys", "fail", str(error), _key_advice(str(error)))
    roles = [f"{role} {address}" for role, address in (("agent", wallet.agent), ("master", wallet.master)) if address]
    return wallet, Finding("keys", "ok", ", ".join(roles))


def kept_key(keyfile: Path | None, keyring: str | None, account: str | None) -> tuple[Wallet | None, Finding]:
    """Read the agent key from an encrypted file or the keyring.

    The address is shown, the key never.

    Parameters
    ----------
    keyfile : Path or None
        Encrypted file of the key, `None` for the keyring.
    keyring : str or None
        Name of the key in the system's keyring.
    account : str or None
        Address of the master, where no key implies it.
    """
    from ..wallet import Wallet

    try:
        if keyfile is not None:
            wallet = Wallet.from_keyfile(keyfile, account=account)
        else:
            wallet = Wallet.from_keyring(str(keyring), account=account)
    except ToolkitError as error:
        advice = "Wallet.save_keyfile and save_keyring write what is read here"
        if "no terminal" in str(error):
            advice = "run it in a terminal. Where there is none, put the agent key into TOOLKIT_AGENT_KEY"
        if "NoKeyringError" in str(error):
            advice = "this system has no keyring: keep the key in an encrypted file, and give --keyfile FILE"
        return None, Finding("keys", "fail", str(error), advice)
    return wallet, Finding("keys", "ok", f"agent {wallet.agent}, from {keyfile or 'the keyring'}")


def _key_advice(said: str) -> str:
    if "account" in said:
        return "put the master's address into TOOLKIT_ACCOUNT (or --account), never a key"
    if "has 40 characters" in said:
        return "that is an address, which is public. Put in the key that belongs to it, 64 hex digits"
    return "put 64 hex digits, with or without 0x, into that variable"


def examine(session: Session, variables: Mapping[str, str]) -> Generator[Finding, None, bool]:
    """Look at an environment: address, proxy, reachability, clock, products, agent, account.

    The generator returns whether the venue could be reached.

    Parameters
    ----------
    session : Session
        Session on the environment that is looked at.
    variables : mapping of str to str
        Environment variables.
    """
    environment = session.environment
    where = "in this process" if session._local is not None else environment.base_url
    chain = environment.chain
    yield Finding("environment", "ok", f"{environment.name}, {where}, chain {chain.chain_id} ({chain.dex_chain})")
    if session._local is None:
        yield from _routes(environment, variables)
    reached = yield from _reach(session)
    if reached:
        yield from _agent(session)
        yield from _account(session)
        yield from _nonces(session)
    return reached


def _routes(environment: Environment, variables: Mapping[str, str]) -> Iterator[Finding]:
    """Look at the way to both addresses: proxies and certificates."""
    found: dict[Finding, list[str]] = {}
    for what, url in (("queries", environment.base_url), ("feed", environment.ws_url)):
        try:
            route = Route.to(url, variables)
            route.certificates  # noqa: B018  (a cached property, which raises for files that can't be read)
        except NotSent as error:
            advice = "change the environment variable as the text says"
            found.setdefault(Finding("network", "fail", str(error), advice), []).append(what)
            continue
        if route.proxy is not None:
            found.setdefault(Finding("proxy", "note", route.described), []).append(what)
        if route.trusted and urlsplit(url).scheme in SECURE:
            found.setdefault(Finding("certificates", "note", f"those of {' '.join(route.trusted)}"), []).append(what)
    for finding, uses in found.items():
        yield replace(finding, text=f"{' and '.join(uses)}: {finding.text}")
    others = [name for name in CA_BUNDLES if variables.get(name)]
    if others and urlsplit(environment.base_url).scheme in SECURE:
        text = f"not read: {', '.join(others)}. Certificates are named by SSL_CERT_FILE or SSL_CERT_DIR"
        yield Finding("certificates", "note", text)


def _nonces(session: Session) -> Iterator[Finding]:
    """Say how far the last nonces of the keys are ahead of the venue's time."""
    wallet, now_ms = session.wallet, session.clock.now_ms()
    for role, address in (("agent", wallet and wallet.agent), ("master", wallet and wallet.master)):
        last = session._delivery.nonces(address).last if address else -1
        if last < 0:
            continue
        lead_s = (last - now_ms) / 1000
        if lead_s < LEAD_MS / 1000:
            where = f"{lead_s:,.1f} s ahead of" if lead_s > 0 else "not ahead of"
            yield Finding("nonces", "ok", f"the last nonce of the {role} key is {where} the venue's time")
            continue
        text = f"the last nonce of the {role} key is {lead_s / 3600:,.1f} h ahead of the venue's time"
        advice = "the next nonce is the venue's time again. Correct this machine's clock if it is wrong"
        yield Finding("nonces", "warn", text, advice)


def feed(session: Session, timeout: float) -> Finding:
    """Look whether the live feed answers: its address is another than that of the queries.

    Parameters
    ----------
    session : Session
        Session on the environment that is looked at.
    timeout : float
        Seconds to wait for an answer.
    """
    where = "in this process" if session._local is not None else session.environment.ws_url
    try:
        symbol = next(iter(session.products().index), None)
        if symbol is None:
            return Finding("feed", "note", "nothing is listed, so there is nothing to follow")
        with session.stream.order_book(str(symbol), depth=5) as book:
            book.wait(lambda live: live.updates, timeout=timeout)
    except ToolkitError as error:
        advice = "compare the feed's address: --ws-url, or TOOLKIT_WS_URL. At a local venue it follows from --base-url"
        return Finding("feed", "fail", f"{where}: {error}", advice)
    return Finding("feed", "ok", where)


def _reach(session: Session) -> Generator[Finding, None, bool]:
    """Fetch the product list: reachability, response time, the venue's clock, and what is listed."""
    began = time.perf_counter()
    try:
        envelope = session._driver.run(read(Fetch("GET", PATH), NO_RETRY))
    except (TransportError, ExchangeError) as error:
        yield Finding("reachable", "fail", str(error), _unreachable(error))
        yield from _further_address(session)
        return False
    took = (time.perf_counter() - began) * 1000
    yield Finding("reachable", "ok", f"answered in {took:.0f} ms")
    is_local = session.environment.name == "local" and session._local is None
    yield _clock(venue_time(envelope.reply.headers), session.clock.skew_ms, is_local)
    missing: list[str] = []
    with warnings.catch_warnings(record=True) as broken:
        warnings.simplefilter("always")
        table = session._catalogue.read(envelope.data, missing.append)
    for warning in broken:
        yield Finding("products", "warn", str(warning.message), "the other products work. Report it to the venue")
    for words in missing:
        yield Finding("products", "note", words)
    if table:
        yield Finding("products", "ok", f"{len(table)} listed: {', '.join(list(table)[:8])}")
    else:
        advice = "wait for the venue to list products, or practise locally: python -m toolkit quickstart"
        yield Finding("products", "warn", "the venue answers but lists no products, so nothing can be traded", advice)
    return True


def _further_address(session: Session) -> Iterator[Finding]:
    """Try the second address that is published for a preset. Say so where it answers."""
    base_url, ws_url = FURTHER_ADDRESSES.get(session.environment.base_url, ("", ""))
    if not base_url:
        return
    transport = HttpTransport(base_url, session._transport, session._timeout)
    try:
        Driver(transport.send, session._runtime).run(read(Fetch("GET", PATH), NO_RETRY))
    except (TransportError, ExchangeError) as error:
        yield Finding("address", "note", f"the second published address does not answer either: {error}")
    else:
        advice = f"set TOOLKIT_BASE_URL={base_url} and TOOLKIT_WS_URL={ws_url}"
        yield Finding("address", "warn", f"the second published address answers: {base_url}", advice)
    finally:
        transport.close()


def _unreachable(error: Exception) -> str:
    if "WRONG_VERSION_NUMBER" in str(error):
        return "the address begins with https, and the server speaks http: write http:// instead"
    if isinstance(error, ExchangeError) and error.code == 404:
        return "the address has a path: give it without, like http://127.0.0.1:8645"
    if isinstance(error, errors.NotSent):
        return "check address and network. Behind a proxy set HTTPS_PROXY. Start a local venue: python -m toolkit venue"
    if isinstance(error, errors.TimedOut | errors.Disconnected):
        return "try again. If it fails again, a firewall or proxy blocks the connection, or the venue is down"
    if isinstance(error, errors.HttpStatus | errors.BadAnswer):
        return "another server than the venue answers: a proxy, a log-in page or a wrong address. Open it in a browser"
    if isinstance(error, errors.LocationNotSupported):
        return "the venue does not serve this location. The local venue works anywhere"
    return "the venue refused a public query. Try again later"


def _clock(theirs: int | None, skew_ms: int | None, is_local: bool) -> Finding:
    if theirs is None or skew_ms is None:
        return Finding("clock", "note", "the venue's answers carry no time, so this clock can't be compared")
    words = describe_clock_skew(skew_ms)
    if abs(skew_ms) < SKEW_WARN_MS:
        return Finding("clock", "ok", words)
    if is_local:  # its time may differ: --start, --speed, --clock manual
        there = datetime.fromtimestamp(theirs / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return Finding("clock", "note", f"at the venue it is {there}. Sessions follow its time")
    state = "fail" if abs(skew_ms) >= SKEW_FAIL_MS else "warn"
    advice = "set this machine's clock by the network (NTP): orders carry times, and late ones are refused with 40208"
    return Finding("clock", state, words, advice)


def _agent(session: Session) -> Iterator[Finding]:
    agent = session.wallet.agent if session.wallet else None
    if agent is None:
        return
    try:
        query = {"account": agent, "role": "AGENT", "page_size": "500"}
        rows = session._driver.run(fetch_rows("agents", session._delivery.retry, **query))
    except (TransportError, ExchangeError) as error:
        yield Finding("agent", "warn", f"its approval can't be looked up: {error}")
        return
    active = approvals_of(agent, rows)
    signed = session.permissions.signed_until()
    for row in active:
        yield _approval(session, row, signed.get((agent.lower(), row.name or "")))
    if active:
        return
    if not rows and (funds := _equity(session, agent)):
        text = f"{agent} has {funds:,.2f} USDC, so this seems to be a master's key"
        advice = "use it as master key (TOOLKIT_MASTER_KEY), and make an agent with toolkit.Wallet.create()"
        yield Finding("agent", "fail", text, advice)
    else:
        was = "was revoked" if rows else "is not approved by any account"
        yield Finding("agent", "fail", f"{agent} {was}", _approve(session))


def _approval(session: Session, row: AccountAgent, signed: int | None) -> Finding:
    expires = row.expires_at or signed or 0
    left_ms = expires - session._runtime.now()
    text = f"approved as {row.name!r} by {row.master}"
    if not expires:
        unknown = "Until when is not known here: the venue lists no end, and it was signed elsewhere"
        return Finding("agent", "ok", f"{text}. {unknown}")
    until = datetime.fromtimestamp(expires / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
    if left_ms < 0:
        return Finding("agent", "fail", f"{text}, but that ended {until}", _approve(session))
    if left_ms < DAY_MS:
        return Finding("agent", "warn", f"{text} until {until}, in less than a day", _approve(session))
    return Finding("agent", "ok", f"{text} until {until}")


def _approve(session: Session) -> str:
    how = "`toolkit agent renew`, or session.exchange.approve_agent(validity_seconds=7 * 86400)"
    if session.wallet is not None and session.wallet.master:
        return f"approve it: {how}"
    return f"approve it with a session that has the master key: {how}"


def _account(session: Session) -> Iterator[Finding]:
    try:
        address = session._driver.run(session._account())
    except WalletError as error:
        if session.wallet is not None:
            yield Finding("account", "warn", str(error), "set TOOLKIT_ACCOUNT to the master's address")
        return
    except (TransportError, ExchangeError) as error:
        yield Finding("account", "warn", f"it can't be looked up: {error}")
        return
    try:
        equity = _equity(session, address)
    except (TransportError, ExchangeError) as error:
        yield Finding("account", "warn", f"{address}: its balance can't be read: {error}")
        return
    if equity > 0:
        yield Finding("account", "ok", f"{address} has an equity of {equity:,.2f} USDC")
        return
    if session.environment.is_mainnet:
        advice = f"deposit at least {MIN_DEPOSIT} USDC"
    else:
        advice = "claim test funds with the master key: session.exchange.faucet_claim()"
    yield Finding("account", "warn", f"{address} has no funds", advice)


def _equity(session: Session, address: str) -> Decimal:
    """Return the equity of an account, USDC."""
    given = session._driver.run(fetch_rows(WALLET_BALANCES.name, session._delivery.retry, account=address))
    rows = legible(AccountWallet, given, WALLET_BALANCES.path)
    return sum((known(row.equity, row, "equity") for row in rows), Decimal(0))
