function render({ model, el }) {
  return panel(model, el, (view) => (view.symbol ? `${view.symbol} positions and orders` : "Positions and orders"), (body, id, { note }) => {
    const section = (title, columns, extra) => {
      const { table, body: lines } = grid(title, columns);
      const empty = h("p", { class: "tk-empty" });
      const count = h("span", { class: "tk-count" });
      const head = h("div", { class: "tk-sub" }, h("h4", {}, title), count, extra || "");
      body.append(head, h("div", { class: "tk-wide" }, table), empty);
      return { lines, empty, count, table };
    };
    const num = (name) => ({ name, num: true });
    const positions = section("Positions", [{ name: "Product" }, { name: "Side" }, num("Size"), num("Entry"), num("Mark"), num("PnL"), num("Return"), { name: "Leverage" }, { name: "" }]);
    const all = careful(() => "Cancel all", () => "Cancel all?", () => model.send({ do: "cancelAll", confirmed: true }));
    const orders = section("Open orders", [{ name: "Product" }, { name: "Side" }, { name: "Kind" }, num("Price"), num("Open / ordered"), { name: "" }], all);
    const fills = section("Fills", [{ name: "Time" }, { name: "Product" }, { name: "Side" }, num("Price"), num("Quantity"), num("Fee"), num("PnL")]);
    const told = h("p", { class: "tk-told", role: "status", "aria-live": "polite" });
    body.append(told);

    /** Rows that keep their button armed while others change: one row for each key. */
    const keyed = (place, list, key, make, fill) => {
      const known = new Map([...place.children].map((row) => [row.dataset.key, row]));
      list.forEach((one, index) => {
        let row = known.get(key(one));
        if (!row) {
          row = make();
          row.dataset.key = key(one);
        }
        known.delete(key(one));
        row.item = one;
        if (place.children[index] !== row) place.insertBefore(row, place.children[index] || null);
        fill(row.children, one, row);
      });
      for (const row of known.values()) row.remove();
    };
    const cells = (kinds) => kinds.split("").map((kind) => h("td", kind === "n" ? { class: "tk-num" } : {}));
    const withButton = (kinds, label, question, message) => () => {
      const row = h("tr", {}, ...cells(kinds));
      row.button = careful(label, () => question(row.item), () => model.send({ ...message(row.item), confirmed: true }));
      row.append(h("td", { class: "tk-act" }, row.button));
      return row;
    };
    return (view, lock) => {
      const off = Boolean(lock) || view.readOnly;
      put(note, view.mainnet ? "real money" : "");
      toggle(note, "tk-danger", view.mainnet);
      const held = view.positions || [];
      put(positions.count, held.length);
      put(positions.empty, held.length ? "" : "No position.");
      show(positions.empty, !held.length);
      show(positions.table, held.length);
      keyed(
        positions.lines, held, (one) => one.symbol,
        withButton("ttnnnnnt", () => "Close", (one) => `Close ${one.size} at market?`, (one) => ({ do: "close", symbol: one.symbol, size: one.size })),
        (row, one, line) => {
          [one.symbol, one.side, one.size, one.entry, one.mark].forEach((text, index) => (index === 1 ? paint(row[index], text) : put(row[index], text)));
          paint(row[5], one.pnl);
          paint(row[6], one.roi);
          put(row[7], one.leverage);
          line.button.dataset.name = `Close the ${one.symbol} position at market`;
          if (!line.button.hasAttribute("aria-label")) line.button.setAttribute("aria-label", line.button.dataset.name);
          line.button.disabled = off;
        },
      );
      const open = view.orders || [];
      put(orders.count, open.length);
      put(orders.empty, open.length ? "" : "No open order.");
      show(orders.empty, !open.length);
      show(orders.table, open.length);
      show(all, open.length > 1);
      all.disabled = off;
      keyed(
        orders.lines, open, (one) => one.id,
        withButton("tttnn", () => "Cancel", () => "Cancel it?", (one) => ({ do: "cancel", order: one.id })),
        (row, one, line) => {
          put(row[0], one.symbol);
          paint(row[1], one.side);
          put(row[2], one.what);
          put(row[3], one.price);
          put(row[4], one.quantity);
          line.button.dataset.name = `Cancel order ${one.id}: ${one.side.slice(2)} ${one.quantity} ${one.symbol} at ${one.price}`;
          if (!line.button.hasAttribute("aria-label")) line.button.setAttribute("aria-label", line.button.dataset.name);
          line.button.disabled = off;
        },
      );
      const done = view.fills || [];
      put(fills.count, "");
      put(fills.empty, done.length ? "" : "No fill yet.");
      show(fills.empty, !done.length);
      show(fills.table, done.length);
      keyed(fills.lines, done, (one) => one.id, () => h("tr", {}, ...cells("tttnnnn")), (row, one) => {
        put(row[0], one.time);
        put(row[1], one.symbol);
        paint(row[2], one.side);
        put(row[3], one.price);
        put(row[4], one.quantity);
        put(row[5], one.fee);
        paint(row[6], one.pnl);
      });
      put(told, view.told ? `✓ ${view.told}` : "");
    };
  });
}
export default { render };
