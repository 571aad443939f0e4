// Approve an agent, buy, and read the position, with types generated from the venue's own OpenAPI document.
// Usage: MASTER_KEY=0x… AGENT_KEY=0x… node built/trade.js http://127.0.0.1:8645
import createClient from "openapi-fetch";
import protobuf from "protobufjs";
import { bytesToHex, concat, keccak256, numberToBytes, parseSignature } from "viem";
import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { components, paths } from "./exchange.js";

type Schemas = components["schemas"];
type Order = Schemas["PlaceOrderRequest"]["action"]["orders"][number];

const base = process.argv[2] ?? "http://127.0.0.1:8645";
const keyOf = (name: string): Hex => `0x${(process.env[name] ?? "").replace(/^0x/, "")}`;
const master = privateKeyToAccount(keyOf("MASTER_KEY"));
const agent = privateKeyToAccount(keyOf("AGENT_KEY"));
const venue = createClient<paths>({ baseUrl: base });
const domain = { version: "1", chainId: 421614, verifyingContract: "0x0100000000000000000000000000000000000001" } as const;

function parts(signature: Hex): Schemas["Signature"] {
  const { r, s, yParity } = parseSignature(signature);
  return { r, s, v: yParity ? 28 : 27 };
}

// The data of an answer. A refusal has a code: with status 200 in data, with another in error.
function done<T extends Schemas["Answer"]>(answer: { data?: T; error?: Schemas["Answer"] }): T["data"] {
  const body = answer.data ?? answer.error;
  if (answer.data === undefined || answer.data.code !== 0) throw new Error(`refused with ${body?.code}: ${body?.message}`);
  return answer.data.data;
}

async function approve(name: string, nonce: number) {
  const action = { type: "approveAgent", dexChain: "Testnet", agentAddress: agent.address, agentName: name,
    validitySeconds: 86400 } as const;
  const signature = await master.signTypedData({
    domain: { ...domain, name: "SignTransaction" },
    types: { ApproveAgent: [
      { name: "dexChain", type: "string" }, { name: "agentAddress", type: "address" },
      { name: "agentName", type: "string" }, { name: "validitySeconds", type: "uint64" },
      { name: "nonce", type: "uint64" }, { name: "expiryAfter", type: "uint64" }] },
    primaryType: "ApproveAgent",
    message: { ...action, validitySeconds: 86400n, nonce: BigInt(nonce), expiryAfter: 0n },
  });
  return done(await venue.POST("/api/v1/exchange", { body: { action, signature: parts(signature), nonce } }));
}

// The messages that agents sign, as the venue serves them.
const messages = protobuf.parse(await (await fetch(`${base}/exchange.proto`)).text()).root;

async function place(order: Order, nonce: number) {
  const Message = messages.lookupType("exchange.v1.MsgPlaceOrders");
  const numbered = { ...order, ordType: `ORD_TYPE_${order.ordType}`, ordSide: `ORD_SIDE_${order.ordSide}`,
    timeInForce: `ORD_TIF_${order.timeInForce}` };
  const bytes = Message.encode(Message.fromObject({ orders: [numbered] })).finish();
  const [time, expiry] = [nonce, 0].map((value) => numberToBytes(value, { size: 8 }).reverse());
  const signature = await agent.signTypedData({
    domain: { ...domain, name: "Exchange" },
    types: { Agent: [{ name: "source", type: "string" }, { name: "connectionId", type: "bytes32" }] },
    primaryType: "Agent",
    message: { source: "b", connectionId: keccak256(concat([bytesToHex(bytes), bytesToHex(time!), bytesToHex(expiry!)])) },
  });
  const body = { action: { type: "placeOrder" as const, orders: [order] }, signature: parts(signature), nonce };
  return done(await venue.POST("/api/v1/exchange", { body }));
}

const nonce = Date.now();
await approve("typescript", nonce);
const [product] = done(await venue.GET("/info/single", { params: { query: { symbol: 1 } } })).perpProducts;
if (product === undefined) throw new Error("product 1 is not listed");
console.log("tick of", product.symbol, product.tickSize);
const order: Order = { symbolCode: Number(product.code), ordPx: "62600.0", ordQty: "0.01", ordType: "LIMIT",
  ordSide: "BUY", timeInForce: "IOC", clOrdId: nonce };
console.log("order", JSON.stringify(await place(order, nonce + 1)));

const pos = await venue.GET("/info/position/list", { params: { query: { userAddr: master.address } } });
if (pos.data === undefined) throw new Error(pos.error.message);
const held = pos.data.data[0];
if (held === undefined) throw new Error("no position");
const size: string = held.longSize, leverage: string = held.leverage, opened: number = held.blockTime;
console.log("position", size, "at a mark price of", held.curMarkPx, "leverage", leverage, "since", opened);
