"""Who may do what for an account, and how to end it; the flows of builders and of the traders who let them.

`session.permissions()` is one table of agents, builders and vaults; `session.revoke(row's name or address)` ends one.
`session.builder` is a builder's side: register, see traders, place orders for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from ...errors import BadRequest, HttpStatus, InputError
from ...orders import Order
from ...products import Amount, decimal_text
from ...protocol.reads.info import ENDPOINTS
from ..io.flow import Flow, flow, subflow
from ..reads.reading import Reader
from .delivery import UNSET, Delivery, Unset
from .receipts import Receipt

if TYPE_CHECKING:
    import pandas as pd

AGENT_PAGE, BUILDER_PAGE = 500, 100
COLUMNS = {
    "kind": "string",
    "name": "string",
    "address": "string",
    "of": "string",
    "may": "string",
    "since": "datetime64[ms, UTC]",
    "until": "datetime64[ms, UTC]",
    "max_fee_rate": "float64",
    "status": "string",
}
"""Columns of the table of permissions and their dtypes."""

_AGENT_MAY = "trade, and act for vaults; never withdraw, approve or claim"
_BUILDER_MAY = "place orders, for a fee of at most max_fee_rate of each fill"
_LEADER_MAY = "be traded, rebalanced, handed over and closed by your agents"
_DEPOSIT_MAY = "its leader trades your deposit"


class PermissionFlows:
    """What Session and AsyncSession tell and do about permissions."""

    info: Any
    exchange: Any
    _account: Any
    _delivery: Delivery

    @flow
    def permissions(self, *, ended: bool = False, builders: Iterable[str] = ()) -> Flow[pd.DataFrame]:
        """Return who may do what for this account: one row an agent, builder authorisation or vault.

        `ended` also shows what was revoked or has expired. The published query of authorisations needs the builder's
        address; where a venue does not answer without one, those in `builders` and those that this session's ledger
        knows are asked for, and `frame.attrs["complete"]` is False.

        Columns: kind (agent, builder, vault), name, address (the agent wallet, the builder's agent, the vault), of (the
        builder, the vault's leader), may (in words), since, until (UTC), max_fee_rate (ratio), status (ACTIVE, REVOKED,
        EXPIRED, OPEN, CLOSED).
        """
        account: str = yield from self._account()
        rows = yield from self._agent_rows(account, ended)
        authorised, complete = yield from self._builder_rows(account, ended, builders)
        rows += authorised
        rows += yield from self._vault_rows(account, ended)
        made = _frame(rows)
        made.attrs["complete"] = complete
        return made

    @flow
    def revoke(self, who: str, *, expiry_after: int | Unset | None = UNSET) -> Flow[Receipt]:
        """End an agent's approval (by its name or address) or the builder's authorisation (by either address).

        Capitals of a name matter. An address that was approved under several names loses all of them, each by a request
        of its own, and the last receipt is returned.

        Signed by: Master. Raises InputError when nobody of that name or address may act for this account.
        """
        table: pd.DataFrame = yield from subflow(self.permissions)
        mine = [row for row in _records(table) if row["status"] == "ACTIVE"]
        found = meant(mine, who)
        if not found:
            names = tuple(str(row["name"] or row["address"]) for row in mine)
            known = ", ".join(f"{row['kind']} {name}" for row, name in zip(mine, names, strict=True)) or "nobody"
            raise InputError(
                f"{who!r} is no active agent or builder of this account; there is {known}",
                field="who",
                rule="active",
                value=who,
                nearest=names,
            )
        receipt: Receipt
        for row in found:
            if row["kind"] == "builder":
                receipt = yield from subflow(self.exchange.revoke_agent_to_builder, expiry_after=expiry_after)
            else:
                receipt = yield from subflow(self.exchange.revoke_agent, str(row["name"]), expiry_after=expiry_after)
        return receipt

    @flow
    def allow_builder(
        self,
        builder: str,
        agent: str,
        max_fee_rate: Amount,
        *,
        validity_seconds: int = 0,
        expiry_after: int | Unset | None = UNSET,
    ) -> Flow[Receipt]:
        """Let a builder's agent wallet place orders for this account, for a fee of at most `max_fee_rate` (a ratio).

        `validity_seconds` 0 is 7 days. An authorisation given before ends. Signed by: Trader master.
        Source: specification, "Builder Code".
        """
        values = {"max_fee_rate": decimal_text(max_fee_rate, "max_fee_rate"), "validity_seconds": validity_seconds}
        receipt: Receipt = yield from subflow(
            self.exchange.approve_agent_to_builder, agent, builder, **values, expiry_after=expiry_after
        )
        return receipt

    @flow
    def end_builder(self, *, expiry_after: int | Unset | None = UNSET) -> Flow[Receipt]:
        """End this account's active builder authorisation. Signed by: Trader master."""
        receipt: Receipt = yield from subflow(self.exchange.revoke_agent_to_builder, expiry_after=expiry_after)
        return receipt

    def _agent_rows(self, account: str, ended: bool) -> Flow[list[dict[str, Any]]]:
        found = yield from _every(self.info.agents, AGENT_PAGE, account=account)
        rows = []
        for row in found:
            rows.append(
                {
                    "kind": "agent",
                    "name": row["name"],
                    "address": row["agent"],
                    "of": "",
                    "may": _AGENT_MAY,
                    "since": row["approved_at"],
                    "until": row["expires_at"],
                    "max_fee_rate": float("nan"),
                    "status": _agent_status(row),
                }
            )
        return [row for row in rows if ended or row["status"] == "ACTIVE"]

    def _builder_rows(
        self, account: str, ended: bool, builders: Iterable[str]
    ) -> Flow[tuple[list[dict[str, Any]], bool]]:
        complete, found = True, []
        try:
            found = yield from self._authorisations(account, None, ended)
        except (BadRequest, HttpStatus):
            complete = False
            for builder in self._known_builders(builders):
                found += yield from self._authorisations(account, builder, ended)
        rows = [
            {
                "kind": "builder",
                "name": "",
                "address": row["agent"],
                "of": row["builder"],
                "may": _BUILDER_MAY,
                "since": None,
                "until": row["expires_at"],
                "max_fee_rate": row["max_fee_rate"],
                "status": "REVOKED"
                if row["approve_state"] != "APPROVED"
                else "EXPIRED"
                if row["expired"]
                else "ACTIVE",
            }
            for row in found
        ]
        return rows, complete

    def _authorisations(self, account: str, builder: str | None, ended: bool) -> Flow[list[Mapping[str, Any]]]:
        endpoint, reader = ENDPOINTS["builder_agents"], Reader(self)
        found: list[Mapping[str, Any]] = []
        for state in ("APPROVED", "REVOKED") if ended else ("APPROVED",):
            query = [("wallet", account), ("approveState", state), ("pageSize", str(BUILDER_PAGE))]
            query += [("includeExpired", "true")] if ended else []
            query += [("builder", builder)] if builder else []
            for page in count(1):
                reply = yield from reader.ask(endpoint, (*query, ("page", str(page))))
                table = yield from reader.frame(endpoint, [reply.body], False)
                found += _records(table)
                if len(table) < BUILDER_PAGE:
                    break
        return found

    def _known_builders(self, given: Iterable[str]) -> list[str]:
        named = [
            str(intent.payload["builderAddress"])
            for intent in self._delivery.ledger.all()
            if intent.action == "approveAgentToBuilder"
        ]
        return list(dict.fromkeys(address.lower() for address in (*given, *named)))

    def _vault_rows(self, account: str, ended: bool) -> Flow[list[dict[str, Any]]]:
        vaults: pd.DataFrame = yield from subflow(self.info.vaults, account=account)
        rows = []
        for row in vaults.to_dict("records"):
            leads = str(row["owner"]).lower() == account.lower()
            joined = (row["current_value"] or 0) > 0
            if (leads or joined) and (ended or row["status"] == "OPEN"):
                rows.append(
                    {
                        "kind": "vault",
                        "name": row["name"],
                        "address": row["vault"],
                        "of": row["owner"],
                        "may": _LEADER_MAY if leads else _DEPOSIT_MAY,
                        "since": row["created"],
                        "until": None,
                        "max_fee_rate": float("nan"),
                        "status": row["status"],
                    }
                )
        return rows


class BuilderFlows:
    """A builder's side of Builder Code. The wallet's master is the builder, its agent places the orders."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._driver: Any = session._driver

    @flow
    def register(self, name: str, *, expiry_after: int | Unset | None = UNSET) -> Flow[Receipt]:
        """Register this wallet's master as a builder, once. Signed by: Builder master."""
        receipt: Receipt = yield from subflow(self._session.exchange.register_builder, name, expiry_after=expiry_after)
        return receipt

    @flow
    def traders(self, *, ended: bool = False) -> Flow[pd.DataFrame]:
        """Return the traders who authorised this builder: wallet, agent, max_fee_rate, expires_at, approve_state …

        `ended` also shows what was revoked or has expired. Columns as in `help(session.info.builder_agents)`.
        """
        import pandas as pd

        builder = yield from self._session._account()
        pages: list[pd.DataFrame] = []
        for state in ("APPROVED", "REVOKED") if ended else ("APPROVED",):
            options = {"builder": builder, "approve_state": state, "include_expired": ended, "page_size": BUILDER_PAGE}
            for number in count(1):
                page = yield from subflow(self._session.info.builder_agents, page=number, **options)
                pages.append(page)
                if len(page) < BUILDER_PAGE:
                    break
        return pages[0] if len(pages) == 1 else pd.concat(pages, ignore_index=True)

    @flow
    def place(
        self,
        order: Order,
        fee_rate: Amount,
        *,
        builder: str | None = None,
        expiry_after: int | Unset | None = UNSET,
        vault_address: str | None = None,
    ) -> Flow[Receipt]:
        """Check, sign and send an order, or a bracket, for the trader who authorised this wallet's agent.

        `fee_rate` is a ratio of each fill's value, paid by the trader to the builder; `builder` is the builder's
        master, by default this session's account. Raises as `session.place` does. Signed by: Builder agent.
        """
        session = self._session
        yield from session._checked([order])
        if builder is None:
            builder = yield from session._account()
        rate = decimal_text(fee_rate, "fee_rate")
        options = {"expiry_after": expiry_after, "vault_address": vault_address}
        receipt: Receipt
        if order.is_bracket:
            receipt = yield from subflow(
                session.exchange.place_builder_bracket_order, [order], builder, rate, **options
            )
        else:
            receipt = yield from subflow(session.exchange.place_builder_order, order, builder, rate, **options)
        return receipt


def meant(table: Iterable[Mapping[str, Any]], who: str) -> list[Mapping[str, Any]]:
    """Return the rows that `who` names and that can be revoked: the active agent of exactly that name, else the active
    agents and builders of an address, in any case of letters."""
    rows = [row for row in table if row["kind"] in ("agent", "builder") and row["status"] == "ACTIVE"]
    named = [row for row in rows if row["kind"] == "agent" and row["name"] == who]
    address = str(who).lower()
    return named or [
        row
        for row in rows
        if address == str(row["address"]).lower() or (row["kind"] == "builder" and address == str(row["of"]).lower())
    ]


def _every(method: Any, size: int, **options: Any) -> Flow[list[Mapping[str, Any]]]:
    """Return all rows of a query that pages."""
    rows: list[Mapping[str, Any]] = []
    page = 1
    while True:
        table: pd.DataFrame = yield from subflow(method, page=page, page_size=size, **options)
        rows += _records(table)
        if len(table) < size:
            return rows
        page += 1


def _records(table: pd.DataFrame) -> list[Mapping[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _agent_status(row: Mapping[str, Any]) -> str:
    import pandas as pd

    if str(row["status"]) == "ACTIVE":
        return "ACTIVE"
    return "REVOKED" if pd.notna(row["revoked_at"]) or pd.isna(row["expires_at"]) else "EXPIRED"


def _frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=dtype) for name, dtype in COLUMNS.items()})
