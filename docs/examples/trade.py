"""Trade on the exchange without the toolkit: two packages (eth-account, httpx) and the steps of the page.

Usage: MASTER_KEY=0x… AGENT_KEY=0x… python trade.py http://127.0.0.1:8645
"""

import os
import sys
import time

import httpx
from eth_account import Account
from eth_utils import keccak

CHAIN_ID, SOURCE, DEX_CHAIN = 421614, "b", "Testnet"
CONTRACT = "0x0100000000000000000000000000000000000001"
SIDES, TYPES, TIMES = {"BUY": 1, "SELL": 2}, {"LIMIT": 1, "MARKET": 2}, {"GTC": 1, "IOC": 2, "FOK": 3, "POST_ONLY": 4}


def varint(number: int) -> bytes:
    """Protobuf's variable-length number."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def field(number: int, value: int | str | bytes) -> bytes:
    """One protobuf field; 0 and "" are left out."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value) if value else b""
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content if content else b""


def place_order_bytes(action: dict) -> bytes:
    """Step 1: MsgPlaceOrders, fields in the order of their numbers."""
    written = b""
    for order in action["orders"]:
        item = field(1, order.get("clOrdId", 0)) + field(2, order["symbolCode"]) + field(3, order["ordPx"])
        item += field(4, order["ordQty"]) + field(6, TYPES[order["ordType"]]) + field(7, SIDES[order["ordSide"]])
        written += field(1, item + field(8, TIMES[order["timeInForce"]]))
    return written


def domain(name: str) -> dict:
    """The EIP-712 domain: Exchange for agents, SignTransaction for masters."""
    return {"name": name, "version": "1", "chainId": CHAIN_ID, "verifyingContract": CONTRACT}


def envelope(action: dict, signed, nonce: int) -> dict:
    """Step 4: the body of the request."""
    signature = {"r": f"0x{signed.r:064x}", "s": f"0x{signed.s:064x}", "v": signed.v}
    return {"action": action, "signature": signature, "nonce": nonce}


def sign_order(action: dict, key: str, nonce: int) -> dict:
    """Steps 2 and 3: connectionId = keccak(protobuf, nonce, expiry), then the agent's typed data."""
    connection = keccak(place_order_bytes(action) + nonce.to_bytes(8, "little") + (0).to_bytes(8, "little"))
    types = {"Agent": [{"name": "source", "type": "string"}, {"name": "connectionId", "type": "bytes32"}]}
    message = {"source": SOURCE, "connectionId": connection}
    return envelope(action, Account.sign_typed_data(key, domain("Exchange"), types, message), nonce)


def sign_approval(action: dict, key: str, nonce: int) -> dict:
    """A master signs the fields of its action themselves."""
    names = (
        ("dexChain", "string"), ("agentAddress", "address"), ("agentName", "string"), ("validitySeconds", "uint64"),
        ("nonce", "uint64"), ("expiryAfter", "uint64"),
    )  # fmt: skip
    types = {"ApproveAgent": [{"name": name, "type": kind} for name, kind in names]}
    message = {**{name: action[name] for name, _ in names[:4]}, "nonce": nonce, "expiryAfter": 0}
    return envelope(action, Account.sign_typed_data(key, domain("SignTransaction"), types, message), nonce)


def main(base_url: str, master_key: str, agent_key: str) -> None:
    """Approve the agent, read the price, buy, and read the position."""
    master, agent = Account.from_key(master_key).address, Account.from_key(agent_key).address
    with httpx.Client(base_url=base_url, timeout=10) as http:

        def send(body: dict) -> dict:
            answer = http.post("/api/v1/exchange", json=body).json()
            if answer["code"] != 0:
                raise SystemExit(f"refused with {answer['code']}: {answer['message']}")
            return answer["data"]

        def read(path: str, **query: str) -> object:
            return http.get(path, params=query).json()["data"]

        nonce = int(time.time() * 1000)
        approval = {
            "type": "approveAgent",
            "agentAddress": agent,
            "agentName": "bot",
            "validitySeconds": 86_400,
            "dexChain": DEX_CHAIN,
        }
        send(sign_approval(approval, master_key, nonce))
        order = {"symbolCode": 1, "ordPx": "70000", "ordQty": "0.01", "ordType": "LIMIT", "ordSide": "BUY"}
        order |= {"timeInForce": "IOC", "clOrdId": nonce}
        print("order", send(sign_order({"type": "placeOrder", "orders": [order]}, agent_key, nonce + 1)))
        for held in read("/info/position/list", userAddr=master):
            print("position", held["longSize"], "at a mark price of", held["curMarkPx"])


if __name__ == "__main__":
    main(sys.argv[1], os.environ["MASTER_KEY"], os.environ["AGENT_KEY"])
