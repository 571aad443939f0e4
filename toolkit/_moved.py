"""Where modules went: imports by a module's old name still work, with a DeprecationWarning.

Kept until the next minor version. `install` puts one finder at the end of `sys.meta_path`; it is only asked about names
that no other finder knows, so it costs nothing elsewhere.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "venue venue.engine": "core wiring>registry events codec reasons>codes arguments",
    "venue venue.model": (
        "state grants>program_state market_state>simulation_state lab_state>simulation_state ledger_state>history "
        "genesis config>genesis book triggers desk>risk_index rng"
    ),
    "venue venue.risk": ("ledger treasury>deposits fees funding prices samples>equity_curve curves>equity_curve audit"),
    "venue venue.trading": (
        "orders brackets conditional>trigger_orders matching lifecycle liquidity positions margins>margin_actions"
    ),
    "venue venue.programs": "permissions builders vaults vault_value referrals",
    "venue venue.simulation": "market>participants pricepath>flow replay interventions",
    "venue venue.api": (
        "gateway guard>admission transport info info_accounts info_market info_orders info_programs records"
    ),
    "venue venue.feed": ("feed_account>account_sources feed_batch>batches feed_candles>candles feed_sources>sources"),
    "venue venue.served": "server feed_socket>sockets",
    "venue venue.lab": "control faults feed_faults journal interrupts>sigint",
    "client client.io": "drive>flow transport limits>rate_limits progress",
    "client.orders client.io": "nonce_sources",
    "client client.orders": "delivery ask>outcome intents receipts trading exchange permissions",
    "client client.reads": (
        "info paging candles cache>candle_cache frames convert>conversion derive>derived_columns reading "
        "tables catalogue"
    ),
    "client client.stream": (
        "stream_book>book stream_client>client stream_kinds>kinds stream_live>live "
        "stream_protocol>protocol stream_rows>state stream_shell>shell stream_state>state"
    ),
    "widgets widgets.order_ticket": (
        "ticket assess>validation allowance>buying_power draft effects>preview following>order_tracker holdings"
    ),
    "widgets widgets.panels": "market portfolio permissions dashboard",
    "widgets widgets.base_panel": "base>panel pace>refresher static>static_view numbers>number_format",
    "widgets widgets": "shelf>factory",
    "research research.backtesting": (
        "simulate>driver desk>broker desk_context>context harvest>build_results lines>symbol_state "
        "listing models arrays"
    ),
    "research research.live_trading": "runner adapter>context limits trading>launch",
    "research research.data": "bars recording recorder recording_store replaying",
    "research research.analysis": "results metrics report",
    "research research.selection": "sweeps splits",
    "protocol protocol.reads": "feed feed_records info info_params info_records",
    "protocol protocol": "info_enums>enums",
}
"""Old and new package (below `toolkit`) → modules, as `name`, or `old>new` where the name changed."""


def _targets() -> dict[str, str]:
    found = {}
    for packages, names in MOVED.items():
        old, new = packages.split()
        for name in names.split():
            before, _, after = name.partition(">")
            found[f"toolkit.{old}.{before}"] = f"toolkit.{new}.{after or before}"
    return found


class _Finder(MetaPathFinder, Loader):
    """Makes a module of the old name that gives what the module of the new name has."""

    def __init__(self) -> None:
        self._targets = _targets()

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in self._targets else None

    def exec_module(self, module: ModuleType) -> None:
        new = self._targets[module.__name__]
        message = f"{module.__name__} is now {new}; import it from there"
        # frames of the import machinery are skipped: the warning points at the import statement
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        vars(module)["__getattr__"] = partial(getattr, importlib.import_module(new))


def install() -> None:
    """Let old names be found; doing so again does nothing."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
