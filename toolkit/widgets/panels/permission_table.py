"""The permissions of an account, with buttons to revoke them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...client.orders.approvals import rows_to_revoke
from ...errors import InputError
from ...protocol.orders.approvals import agent_approval, builder_revocation
from ..base_panel import static_view
from ..base_panel.number_format import MISSING, short
from ..base_panel.panel import Panel, confirmed, module

if TYPE_CHECKING:
    import pandas as pd

    from ...client.orders.receipts import Receipt
    from ...plain_session import Session

ZERO_ADDRESS = "0x" + "0" * 40


class Permissions(Panel):
    """Agents, builders and vaults that may act for the account, with buttons to revoke them.

    It shows their expiry and fee cap. Revoking is signed by the master key. Without it the table is read-only. A button
    asks for confirmation. The table is loaded when the panel is made, after a revocation and by `reload()`. `table` is
    the DataFrame of `session.permissions()`.

    Parameters
    ----------
    session : Session
        Session with an account.
    """

    _esm = module("base_panel/common.js", "panels/permissions.js")

    def __init__(self, session: Session) -> None:
        self.table: pd.DataFrame = session.permissions()
        self.notice = ""
        """The result of the last command, in words."""
        super().__init__(session, "permissions")
        self.live = session.stream.events()
        self._follow(self.live)
        self.refresh()

    def reload(self) -> None:
        """Load the table again."""
        self.table = self._session.permissions()
        self.problem = ""
        self.refresh()

    def revoke(self, who: str) -> Receipt:
        """End an agent's approval or a builder's authorisation, as `session.revoke` does.

        It is signed by the master. An address that was approved under several names loses all of them.

        Parameters
        ----------
        who : str
            Name or address of the agent or builder.

        Returns
        -------
        Receipt
            The outcome, of several names that of the last one.

        Raises
        ------
        InputError
            When no such agent or builder may act for the account.
        WalletError
            Without the master key.
        """
        self.table = self._session.permissions()
        found = rows_to_revoke(self._rows(), who)
        if not found:
            raise InputError(f"{who!r} may not act for this account", field="who", rule="active", value=who)
        chain = self._session.environment.chain
        receipt: Receipt
        for row in found:
            name = str(row["name"])
            is_builder = row["kind"] == "builder"
            payload = builder_revocation(chain) if is_builder else agent_approval(chain, ZERO_ADDRESS, name, 0)
            receipt = self._session.intents.send(self._session.intents.prepare(payload), confirmed=True)
            self.notice = f"revoked {row['kind']} {row['name'] or short(str(row['address']))}"
        self.reload()
        return receipt

    def _rows(self) -> list[dict[Any, Any]]:
        return self.table.to_dict("records")

    def _commands(self) -> dict[str, Any]:
        return {"revoke": confirmed(self.revoke), "reload": self.reload}

    def _make_view(self) -> dict[str, Any]:
        wallet = self._session.wallet
        own = str(wallet.agent).lower() if wallet is not None else ""
        return {
            "rows": [_row(row, own) for row in self._rows()],
            "master": wallet is not None and bool(wallet.master),
            "complete": bool(self.table.attrs.get("complete", True)),
            "notice": self.notice,
        }

    def _lines(self) -> Iterable[str]:
        shown = [f"{row['kind']} {row['name'] or short(str(row['address']))}" for row in self._rows()]
        return (", ".join(shown) or "only the master",)

    def _snapshot(self) -> str:
        columns = dict.fromkeys(("kind", "name", "address", "may", "until"), "")
        return static_view.heading("Permissions") + static_view.records(columns, self.view["rows"])


def _row(row: dict[Any, Any], own: str) -> dict[str, Any]:
    # The table has NaT or NaN for a missing value; neither is equal to itself.
    until, rate = row["until"], row["max_fee_rate"]
    address = str(row["address"])
    return {
        "kind": str(row["kind"]),
        "name": str(row["name"] or "") or MISSING,
        "address": short(address),
        "full": address,
        "of": short(str(row["of"])) if row["of"] else "",
        "may": str(row["may"]),
        "until": f"{until:%Y-%m-%d %H:%M}" if until is not None and until == until else "until revoked",
        "cap": f"{rate * 100:g} %" if rate == rate else "",
        "own": address.lower() == own,
        "revocable": row["kind"] in ("agent", "builder") and row["status"] == "ACTIVE",
    }
