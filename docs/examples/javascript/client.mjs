// The bytes of the exchange in JavaScript: protobuf, digest, signature. Works in Node and in browsers.
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { keccak_256 as keccak } from "@noble/hashes/sha3.js";
import * as secp from "@noble/secp256k1";

secp.hashes.sha256 = sha256;
secp.hashes.hmacSha256 = (key, message) => hmac(sha256, key, message);

export const CHAIN_ID = 421614n, SOURCE = "b", DEX_CHAIN = "Testnet";
const CONTRACT = "0x0100000000000000000000000000000000000001";
const SIDES = { BUY: 1, SELL: 2 }, TYPES = { LIMIT: 1, MARKET: 2 };
const TIMES = { GTC: 1, IOC: 2, FOK: 3, POST_ONLY: 4 };

const utf8 = (text) => new TextEncoder().encode(text);
export const hex = (bytes) => "0x" + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
export const unhex = (text) => Uint8Array.from(text.replace(/^0x/, "").match(/../g) ?? [], (pair) => parseInt(pair, 16));
const join = (...parts) => Uint8Array.from(parts.flatMap((part) => Array.from(part)));

function uint(value, size, littleEndian = false) {
  const out = new Uint8Array(size);
  let left = BigInt(value);
  for (let at = 0; at < size; at++, left >>= 8n) out[littleEndian ? at : size - 1 - at] = Number(left & 255n);
  return out;
}

function varint(value) {
  const out = [];
  let left = BigInt(value);
  for (; left > 127n; left >>= 7n) out.push(Number(left & 127n) | 128);
  return Uint8Array.from([...out, Number(left)]);
}

// One protobuf field; 0 and "" are left out.
function field(number, value) {
  if (typeof value === "number" || typeof value === "bigint") {
    return value ? join(varint(number << 3), varint(value)) : new Uint8Array();
  }
  const content = typeof value === "string" ? utf8(value) : value;
  return content.length ? join(varint((number << 3) | 2), varint(content.length), content) : new Uint8Array();
}

// Step 1: MsgPlaceOrders, fields in the order of their numbers.
export function placeOrderBytes(action) {
  return join(...action.orders.map((order) => field(1, join(
    field(1, order.clOrdId ?? 0), field(2, order.symbolCode), field(3, order.ordPx), field(4, order.ordQty),
    field(6, TYPES[order.ordType]), field(7, SIDES[order.ordSide]), field(8, TIMES[order.timeInForce]),
  ))));
}

const word = { string: (text) => keccak(utf8(text)), address: (text) => join(new Uint8Array(12), unhex(text)),
  bytes32: (bytes) => bytes, uint64: (value) => uint(value, 32), uint256: (value) => uint(value, 32) };

function structHash(name, fields, values) {
  const type = `${name}(${fields.map(([field, kind]) => `${kind} ${field}`).join(",")})`;
  return keccak(join(keccak(utf8(type)), ...fields.map(([field, kind]) => word[kind](values[field]))));
}

// Step 3: the EIP-712 digest; the domain is Exchange for agents and SignTransaction for masters.
export function digest(domainName, type, fields, values) {
  const domain = structHash("EIP712Domain",
    [["name", "string"], ["version", "string"], ["chainId", "uint256"], ["verifyingContract", "address"]],
    { name: domainName, version: "1", chainId: CHAIN_ID, verifyingContract: CONTRACT });
  return keccak(join([0x19, 0x01], domain, structHash(type, fields, values)));
}

// Step 2: what an agent signs for.
export function connectionId(bytes, nonce, expiryAfter = 0) {
  return keccak(join(bytes, uint(nonce, 8, true), uint(expiryAfter, 8, true)));
}

function sign(hash, key) {
  const signed = secp.sign(hash, unhex(key), { prehash: false, format: "recovered" });
  return { r: hex(signed.slice(1, 33)), s: hex(signed.slice(33, 65)), v: 27 + signed[0] };
}

export function address(key) {
  return hex(keccak(secp.getPublicKey(unhex(key), false).slice(1)).slice(12));
}

export function signOrder(action, key, nonce, expiryAfter = 0) {
  const fields = [["source", "string"], ["connectionId", "bytes32"]];
  const values = { source: SOURCE, connectionId: connectionId(placeOrderBytes(action), nonce, expiryAfter) };
  const body = { action, signature: sign(digest("Exchange", "Agent", fields, values), key), nonce };
  return expiryAfter ? { ...body, expiryAfter } : body;
}

export function signApproval(action, key, nonce) {
  const fields = [["dexChain", "string"], ["agentAddress", "address"], ["agentName", "string"],
    ["validitySeconds", "uint64"], ["nonce", "uint64"], ["expiryAfter", "uint64"]];
  const values = { ...action, nonce, expiryAfter: 0 };
  return { action, signature: sign(digest("SignTransaction", "ApproveAgent", fields, values), key), nonce };
}
