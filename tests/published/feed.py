"""The feed of a published server on 127.0.0.1: it acknowledges each subscription, and sends what agrees with the world.

Order book, ticker and account open with one message, in the published shape. The other channels stay silent, because
nothing happens.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from tests.published import world
from tests.published.variations import ENUMS
from tests.published.world import Row, World

BOOK = {"bids": [["62400.5", "0.5"], ["62400", "1.25"]], "asks": [["62402", "0.4"], ["62402.5", "2"]]}
FEES = {"takerFeeRatio": "0.00057", "makerFeeRatio": "0.00013"}


def opening(state: World, asked: Row) -> Row | None:
    """Return the data with which a subscription opens, None for a channel of events."""
    head = {"type": "snapshot", "sequence": 3_846_532, "timestamp": state.now}
    if asked["type"] == "orderBook":
        return {
            **head,
            "symbolCode": world.BTC,
            "symbol": asked["symbol"],
            "block": state.height,
            "depth": asked["depth"],
            "book": BOOK,
        }
    if asked["type"] == "ticker":
        prices = {"p": world.LAST, "op": "62500", "mp": "62501.5", "mid": "62401.25", "o": "61500", "h": "62800"}
        others = {"l": "61250", "oi": "1500.25", "fr": "0.00011", "lfr": "0.00012", "v": "2350.5", "tv": "143000000"}
        return {**head, "symbol": asked["symbol"], "ticker": {"s": asked["symbol"], **prices, **others, "P": "0.0083"}}
    if asked["type"] == "aopState":
        own = asked["userAddress"].lower() == world.MASTER.address.lower()
        return {
            **head,
            "userAddr": asked["userAddress"],
            "aop": account(state) if own else {each: [] for each in ACCOUNT},
        }
    return None


ACCOUNT = ("accounts", "orders", "positions", "settings")


def account(state: World) -> Row:
    """Return accounts, orders, positions and settings of the account."""
    wallet = {name: value for name, value in state.wallet.items() if not name.startswith("block")}
    position = {name: value for name, value in state.position.items() if not name.endswith("Time")}
    modes = {"posMode": position.pop("positionMode"), "posMarginMode": position.pop("positionMarginMode")}
    orders = [open_order(row) for row in state.orders if row["leaveQty"] != "0"]
    settings = [{"symbol": name, "leverage": ["ONE_WAY", position["leverage"]]} for name in world.SYMBOLS.values()]
    positions = [{**position, **modes, "symbol": world.SYMBOLS[world.BTC], "marginTableId": 4}]
    return dict(zip(ACCOUNT, ([{**wallet, **FEES}], orders, positions, settings), strict=True))


def open_order(row: Row) -> Row:
    """Return an open order as the feed has it: ids as numbers, enumerations by name."""
    same = {name: row[name] for name in ("userAddr", "triggerPx", "timeInForce", "filledQty", "cumFilledValue")}
    ids = {name: int(row[name]) for name in ("ordId", "clOrdId", "parentOrdId")}
    named = {"ordType": "type", "ordSide": "side", "reduceOnly": "reduceOnly"}
    enums = {name: ENUMS[field][row[field]] for name, field in named.items()}
    return {**same, **ids, **enums, "symbol": world.SYMBOLS[row["symbol"]], "ordPx": row["price"], "ordQty": row["qty"],
            "ordStatus": row["status"], "leavesQty": row["leaveQty"]}  # fmt: skip


def answers(state: World, asked: Row) -> Iterator[Row]:
    """Yield what answers a message of a client."""
    if asked["method"] == "ping":
        yield {"channel": "pong"}
        return
    topic = asked["subscription"]
    data = opening(state, topic) if asked["method"] == "subscribe" else None
    yield {"method": asked["method"], "success": True, "subject": ".".join(str(value) for value in topic.values())}
    if data:
        yield {"channel": topic["type"], "data": data}


@contextmanager
def feed(state: World) -> Iterator[str]:
    """Serve the feed in threads, and give its address."""

    def answer(connection: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            for text in connection:
                try:
                    sent = list(answers(state, json.loads(text)))
                except (ValueError, LookupError, TypeError, AttributeError) as malformed:
                    sent = [{"success": False, "message": repr(malformed)}]
                for message in sent:
                    connection.send(json.dumps(message))

    with serve(answer, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        finally:
            server.shutdown()
            thread.join(5)
