"""Permissions of an account: agents, builders and vaults, how to grant and to revoke them, the builder's side.

`session.permissions()` is a table of agents, builders and vaults. `session.permissions.revoke(name or address)` ends
one. `toolkit.Builder(session)` is a builder's side: register, list traders, place orders for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...errors import ExchangeError, HttpStatus, InputError, NotServed, ToolkitError, warn
from ...orders import Bracket, Order
from ...products import Amount, decimal_text
from ...protocol.orders.approvals import approved_agent, approved_builder
from ...protocol.orders.names import ActionType
from ...protocol.reads.rows import TIME
from ..io.flow import Flow, SessionPart, subflow, trading_flow
from ..reads.derived_columns import records
from ..reads.reading import Reader
from .intents import Intent, IntentState, Ledger
from .receipts import UNSET, Receipt, Unset

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = {
    **dict.fromkeys(("kind", "name", "address", "of", "may"), "string"),
    "since": TIME,
    "until": TIME,
    "max_fee_rate": "float64",
    "status": "string",
}
"""Columns of `session.permissions()` and their dtypes."""

_AGENT_MAY = "trade, and act for vaults, but never withdraw, approve or claim"
_BUILDER_MAY = "place orders, for a fee of at most max_fee_rate of each fill"
_LEADER_MAY = "be traded, rebalanced, handed over and closed by your agents"
_DEPOSIT_MAY = "its leader trades your deposit"


class ActingPart(SessionPart):
    """A part of a session that sends actions."""

    def _act(self, action: str, *args: object, **options: object) -> Flow[Receipt]:
        """Call a method of `session.exchange`."""
        receipt: Receipt = yield from subflow(getattr(self._session.exchange, action), *args, **options)
        return receipt


class PermissionFlows(ActingPart):
    """Reads and changes the permissions to act for the account."""

    _path = "session.permissions"

    @trading_flow
    def __call__(
        self, *, ended: bool = False, builders: Iterable[str] = (), index: str | None = None
    ) -> Flow[pd.DataFrame]:
        """Return who may act for this account: one row per agent, builder authorisation and vault.

        The published query of authorisations needs the builder's address. Where a venue refuses it without one, the
        builders in `builders` and those in this session's ledger are queried, and `frame.attrs["complete"]` is False.

        Parameters
        ----------
        ended : bool, optional
            True includes those that were revoked or have expired (default: False).
        builders : iterable of str, optional
            Addresses of builders to query (default: none).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Times are datetime64[ms, UTC].

            - kind: agent, builder or vault
            - name: string
            - address: string, of the agent wallet, the builder's agent or the vault
            - of: string, address of the builder or of the vault's leader
            - may: string, a description
            - since, until: datetime64[ms, UTC]. The exchange lists no end of an agent's approval: it is known where
              this machine signed the approval, else NaT
            - max_fee_rate: float64, a ratio
            - status: ACTIVE, REVOKED, EXPIRED, OPEN or CLOSED
        """
        account: str = yield from subflow(self.account)
        from ..reads.frames import indexed, typed

        agents = yield from self._agent_rows(account, ended)
        authorisations, complete = yield from self._builder_rows(account, ended, builders)
        vaults = yield from self._vault_rows(account, ended)
        frame = indexed(typed([*agents, *authorisations, *vaults], COLUMNS), index)
        frame.attrs["complete"] = complete
        return frame

    @trading_flow
    def account(self) -> Flow[str]:
        """Return the address of the account whose permissions these are. In a vault's session it is the leader's.

        Returns
        -------
        str

        Raises
        ------
        WalletError
            If it is not known.

        Examples
        --------
        >>> session.permissions.account() == session.account
        True
        """
        found: str = yield from self._session._master()
        return found

    def signed_until(self) -> dict[tuple[str, str], int]:
        """Return until when agents are approved by what this machine signed. The exchange lists no end.

        Returns
        -------
        dict
            Address in lower case and name → Unix ms.

        Examples
        --------
        >>> list(session.permissions.signed_until())
        [('0xbcd4042de499d14e55001ccbb24a551f3b954096', 'toolkit-bcd4042d')]
        """
        return signed_until(self._delivery.ledger)

    @trading_flow
    def revoke(self, who: str, *, expiry_after: int | Unset | None = UNSET) -> Flow[Receipt]:
        """End an agent's approval or a builder's authorisation, and return the last receipt. Signed by: Master.

        An address that was approved under several names loses all of them, with one request each.

        Parameters
        ----------
        who : str
            Name or address of the agent, or either address of the builder. Names are case-sensitive.
        expiry_after : int, optional
            Unix ms after which the venue refuses it (default: in a minute, None: never).

        Returns
        -------
        Receipt

        Raises
        ------
        InputError
            When no active agent or builder has that name or address.

        Examples
        --------
        >>> session.permissions.revoke("toolkit-bcd4042d").status
        'ACCEPTED'
        """
        table: pd.DataFrame = yield from subflow(self.__call__)
        active = [row for row in records(table) if row["status"] == "ACTIVE"]
        chosen = rows_to_revoke(active, who)
        if not chosen:
            names = tuple(str(row["name"] or row["address"]) for row in active)
            known = ", ".join(f"{row['kind']} {name}" for row, name in zip(active, names, strict=True)) or "none"
            what = f"{who!r} is no active agent or builder of this account. There is {known}"
            raise InputError(what, field="who", rule="active", value=who, nearest=names)
        receipt: Receipt
        for row in chosen:
            if row["kind"] == "builder":
                receipt = yield from self._act("revoke_agent_to_builder", expiry_after=expiry_after)
            else:
                receipt = yield from self._act("revoke_agent", str(row["name"]), expiry_after=expiry_after)
        return receipt

    @trading_flow
    def allow_builder(
        self,
        builder: str,
        agent: str,
        max_fee_rate: Amount,
        *,
        validity_seconds: int = 0,
        expiry_after: int | Unset | None = UNSET,
    ) -> Flow[Receipt]:
        """Let a builder's agent wallet place orders for this account. Signed by: Trader master.

        It replaces an earlier authorisation. Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        builder : str
            Address of the builder.
        agent : str
            Address of its agent wallet.
        max_fee_rate : int, str, Decimal or float
            Largest fee, a ratio of each fill's value.
        validity_seconds : int, optional
            Seconds until it expires (default: 0, which is 7 days).
        expiry_after : int, optional
            Unix ms after which the venue refuses it (default: in a minute, None: never).

        Returns
        -------
        Receipt

        Examples
        --------
        >>> other = toolkit.connect(venue=session.venue, account=1)
        >>> _ = other.exchange.register_builder("builders")
        >>> session.permissions.allow_builder(other.account, other.wallet.agent, "0.0005").status
        'ACCEPTED'
        """
        values = {"max_fee_rate": decimal_text(max_fee_rate, "max_fee_rate"), "validity_seconds": validity_seconds}
        action = "approve_agent_to_builder"
        return (yield from self._act(action, agent, builder, **values, expiry_after=expiry_after))

    @trading_flow
    def end_builder(self, *, expiry_after: int | Unset | None = UNSET) -> Flow[Receipt]:
        """End this account's active builder authorisation. Signed by: Trader master.

        Parameters
        ----------
        expiry_after : int or None, optional
            Unix ms after which the venue refuses it (default: in a minute). None: never.

        Returns
        -------
        Receipt

        Examples
        --------
        >>> other = toolkit.connect(venue=session.venue, account=1)
        >>> _ = other.exchange.register_builder("builders")
        >>> _ = session.permissions.allow_builder(other.account, other.wallet.agent, "0.0005")
        >>> session.permissions.end_builder().status
        'ACCEPTED'
        """
        return (yield from self._act("revoke_agent_to_builder", expiry_after=expiry_after))

    def _agent_rows(self, account: str, ended: bool) -> Flow[list[dict[str, Any]]]:
        read = yield from self._reader.all_rows("agents", {"account": account})
        table = yield from self._reader.frame_of([read], read.newest_first())
        signed = signed_until(self._delivery.ledger)
        rows = [
            {"kind": "agent", "of": "", "may": _AGENT_MAY, "status": _agent_status(row), "name": row["name"]}
            | {"address": row["agent"], "since": row["approved_at"], "until": _until(row, signed)}
            for row in records(table)
        ]
        return [row for row in rows if ended or row["status"] == "ACTIVE"]

    def _builder_rows(
        self, account: str, ended: bool, builders: Iterable[str]
    ) -> Flow[tuple[list[dict[str, Any]], bool]]:
        complete = True
        try:
            tables = [(yield from _authorisations(self._reader, ended, wallet=account))]
        except (ExchangeError, HttpStatus):  # published is the query by builder alone
            complete, tables = False, []
            for builder in self._known_builders(builders):
                try:
                    tables.append((yield from _authorisations(self._reader, ended, wallet=account, builder=builder)))
                except NotServed as error:
                    warn(f"authorisations of builders are not listed: {error}")
                    break
        rows = [
            {"kind": "builder", "name": "", "may": _BUILDER_MAY, "status": _builder_status(row)}
            | {"address": row["agent"], "of": row["builder"]}
            | {"until": row["expires_at"], "max_fee_rate": row["max_fee_rate"]}
            for table in tables
            for row in records(table)
        ]
        return rows, complete

    def _known_builders(self, given: Iterable[str]) -> list[str]:
        asked = (one.payload for one in self._delivery.ledger.all() if one.action == ActionType.APPROVE_BUILDER)
        recorded = map(approved_builder, asked)
        return list(dict.fromkeys(address.lower() for address in (*given, *recorded)))

    def _vault_rows(self, account: str, ended: bool) -> Flow[list[dict[str, Any]]]:
        try:
            vaults = yield from self._reader.table("vaults", {"account": account})
        except NotServed as error:
            warn(f"vaults are not listed: {error}")
            return []
        rows = []
        for row in vaults.to_dict("records"):
            leads = str(row["owner"]).lower() == account.lower()
            joined = (row["current_value"] or 0) > 0
            if (leads or joined) and (ended or row["status"] == "OPEN"):
                found = {"kind": "vault", "may": _LEADER_MAY if leads else _DEPOSIT_MAY, "status": row["status"]}
                found |= {"name": row["name"], "address": row["vault"], "of": row["owner"], "since": row["created"]}
                rows.append(found)
        return rows


class BuilderFlows(ActingPart):
    """A builder's side of Builder Code: the wallet's master is the builder, its agent places the orders."""

    _path = "Builder"

    @trading_flow
    def register(self, name: str, *, expiry_after: int | Unset | None = UNSET) -> Flow[Receipt]:
        """Register this wallet's master as a builder, once. Signed by: Builder master.

        Parameters
        ----------
        name : str
            Its public name.
        expiry_after : int or None, optional
            Unix ms after which the venue refuses it (default: in a minute). None: never.

        Returns
        -------
        Receipt

        Examples
        --------
        >>> toolkit.Builder(session).register("builders").status
        'ACCEPTED'
        """
        return (yield from self._act("register_builder", name, expiry_after=expiry_after))

    @trading_flow
    def traders(self, *, ended: bool = False, index: str | None = None) -> Flow[pd.DataFrame]:
        """Return the authorisations of this builder, newest first, one row per trader and agent.

        Parameters
        ----------
        ended : bool, optional
            True includes those that were revoked or have expired (default: False).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Columns as in `help(session.info.builder_agents)`.

        Examples
        --------
        >>> builder = toolkit.Builder(session)
        >>> _ = builder.register("builders")
        >>> len(builder.traders())
        0
        """
        builder: str = yield from self._session._master()
        return (yield from _authorisations(self._session._reader, ended, builder=builder, index=index))

    @trading_flow
    def place(
        self,
        order: Order | Bracket,
        fee_rate: Amount,
        *,
        builder: str | None = None,
        expiry_after: int | Unset | None = UNSET,
        vault_address: str | None = None,
    ) -> Flow[Receipt]:
        """Check, sign and send an order for the trader who authorised this wallet's agent. Signed by: Builder agent.

        Errors are those of `session.place`.

        Parameters
        ----------
        order : Order or Bracket
            An Order or a Bracket of `toolkit.orders`.
        fee_rate : int, str, Decimal or float
            Fee that the trader pays to the builder, a ratio of each fill's value.
        builder : str, optional
            Address of the builder's master (default: this session's account).
        expiry_after : int, optional
            Unix ms after which the venue refuses it (default: in a minute, None: never).
        vault_address : str, optional
            Address of the vault to trade for (default: the trader's account).

        Returns
        -------
        Receipt

        Examples
        --------
        >>> other = toolkit.connect(venue=session.venue, account=1)
        >>> _ = other.exchange.register_builder("builders")
        >>> _ = session.permissions.allow_builder(other.account, other.wallet.agent, "0.0005")
        >>> toolkit.Builder(other).place(orders.market("BTCUSDC", "BUY", "0.01"), "0.0005").status
        'FILLED'
        """
        session = self._session
        session._check_orders([order])
        if builder is None:
            builder = yield from session._master()
        rate = decimal_text(fee_rate, "fee_rate")
        options = {"expiry_after": expiry_after, "vault_address": vault_address}
        if isinstance(order, Bracket):
            return (yield from self._act("place_builder_bracket_order", [order], builder, rate, **options))
        return (yield from self._act("place_builder_order", order, builder, rate, **options))


def signed_until(ledger: Ledger) -> dict[tuple[str, str], int]:
    """Return until when agents are approved by what was signed here: address in lower case and name → Unix ms.

    The exchange lists no end of an approval. It counts from the block, which is never before the request was made.

    Parameters
    ----------
    ledger : Ledger
        Ledger of the account.
    """
    found: dict[tuple[str, str], int] = {}
    intents: list[Intent] = []
    with suppress(ToolkitError):  # without a folder for it nothing was signed here that is remembered
        intents = ledger.all((IntentState.ACCEPTED,))
    for intent in sorted(intents, key=lambda one: one.created):
        if intent.action == ActionType.APPROVE_AGENT:
            address, name, seconds = approved_agent(intent.payload)
            found[address.lower(), name] = intent.created + seconds * 1000
    return found


def _until(row: Mapping[str, Any], signed: Mapping[tuple[str, str], int]) -> Any:
    import pandas as pd

    if pd.notna(row["expires_at"]) or _agent_status(row) != "ACTIVE":
        return row["expires_at"]
    known = signed.get((str(row["agent"]).lower(), str(row["name"])))
    return pd.NaT if known is None else pd.Timestamp(known, unit="ms", tz="UTC")


def rows_to_revoke(table: Iterable[Mapping[str, Any]], who: str) -> list[Mapping[str, Any]]:
    """Return the rows that `revoke(who)` ends: the active agent of exactly that name, else the active agents and
    builders with that address in any spelling.

    Parameters
    ----------
    table : iterable of mapping
        Rows of the permissions, by column.
    who : str
        Name or address.
    """
    rows = [row for row in table if row["kind"] in ("agent", "builder") and row["status"] == "ACTIVE"]
    named = [row for row in rows if row["kind"] == "agent" and row["name"] == who]
    address = str(who).lower()
    parts = {"agent": ("address",), "builder": ("address", "of")}
    return named or [row for row in rows if address in (str(row[part]).lower() for part in parts[row["kind"]])]


def _authorisations(reader: Reader, ended: bool, *, index: str | None = None, **parties: str) -> Flow[pd.DataFrame]:
    """Return the authorisations of a trader (`wallet`), a `builder` or both, newest first within each state."""
    reads = []
    # The query returns one state at a time.
    for state in ("APPROVED", "REVOKED") if ended else ("APPROVED",):
        given = {**parties, "approve_state": state, "include_expired": ended}
        reads.append((yield from reader.all_rows("builder_agents", given)))
    rows = [row for read in reads for row in read.newest_first()]
    return (yield from reader.frame_of(reads, rows, index=index))


def _builder_status(row: Mapping[str, Any]) -> str:
    if row["approve_state"] != "APPROVED":
        return "REVOKED"
    return "EXPIRED" if row["expired"] else "ACTIVE"


def _agent_status(row: Mapping[str, Any]) -> str:
    import pandas as pd

    if str(row["status"]) == "ACTIVE":
        return "ACTIVE"
    return "REVOKED" if pd.notna(row["revoked_at"]) else "EXPIRED"
