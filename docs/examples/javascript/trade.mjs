// Approve an agent, follow the book, buy, and read the position.
// Usage: MASTER_KEY=0x… AGENT_KEY=0x… node --experimental-websocket trade.mjs http://127.0.0.1:8645
import { DEX_CHAIN, address, signApproval, signOrder } from "./client.mjs";

const base = process.argv[2];
const { MASTER_KEY, AGENT_KEY } = process.env;

async function send(body) {
  const headers = { "content-type": "application/json" };
  const answer = await (await fetch(`${base}/api/v1/exchange`, { method: "POST", headers, body: JSON.stringify(body) })).json();
  if (answer.code !== 0) throw new Error(`refused with ${answer.code}: ${answer.message}`);
  return answer.data;
}

async function read(path, query) {
  return (await (await fetch(`${base}${path}?${new URLSearchParams(query)}`)).json()).data;
}

function firstBook(symbol) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${base.replace(/^http/, "ws")}/ws/dex`);
    socket.onerror = () => reject(new Error("the feed can't be reached"));
    socket.onopen = () => socket.send(JSON.stringify({ method: "subscribe", subscription: { type: "orderBook", symbol, depth: 5 } }));
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      if (message.channel !== "orderBook") return;
      socket.close();
      resolve(message.data.book);
    };
  });
}

const nonce = Date.now();
await send(signApproval({ type: "approveAgent", agentAddress: address(AGENT_KEY), agentName: "bot",
  validitySeconds: 86400, dexChain: DEX_CHAIN }, MASTER_KEY, nonce));
const book = await firstBook("BTCUSDC");
const [price] = book.asks[0];
console.log("best ask", price);
const order = { symbolCode: 1, ordPx: price, ordQty: "0.01", ordType: "LIMIT", ordSide: "BUY", timeInForce: "IOC", clOrdId: nonce };
console.log("order", JSON.stringify(await send(signOrder({ type: "placeOrder", orders: [order] }, AGENT_KEY, nonce + 1))));
for (const held of await read("/info/position/list", { userAddr: address(MASTER_KEY) })) {
  console.log("position", held.longSize, "at a mark price of", held.curMarkPx);
}
