function render({ model, el }) {
  return renderPanel(model, el, (view) => (view.symbol ? `${view.symbol} positions and orders` : "Positions and orders"), (body, id, { note }) => {
    const section = (title, columns, extra) => {
      const { table, body: lines } = makeTable(title, columns);
      const empty = h("p", { class: "tk-empty" });
      const count = h("span", { class: "tk-count" });
      const head = h("div", { class: "tk-sub" }, h("h4", {}, title), count, extra || "");
      body.append(head, h("div", { class: "tk-wide" }, table), empty);
      return { lines, empty, count, table };
    };
    const num = (name) => ({ name, num: true });
    const positions = section("Positions", [{ name: "Product" }, { name: "Side" }, num("Size"), num("Entry"), num("Mark"), num("PnL"), num("Return"), { name: "Leverage" }, { name: "" }]);
    const all = confirmButton(() => "Cancel all", () => "Cancel all?", () => model.send({ do: "cancelAll", confirmed: true }));
    const orders = section("Open orders", [{ name: "Product" }, { name: "Side" }, { name: "Kind" }, num("Price"), num("Remaining / total"), { name: "" }], all);
    const fills = section("Fills", [{ name: "Time" }, { name: "Product" }, { name: "Side" }, num("Price"), num("Quantity"), num("Fee"), num("PnL")]);
    const notice = h("p", { class: "tk-notice", role: "status", "aria-live": "polite" });
    body.append(notice);

    const cells = (kinds) => kinds.split("").map((kind) => h("td", kind === "n" ? { class: "tk-num" } : {}));
    const withButton = (kinds, label, question, message) => () => {
      const row = h("tr", {}, ...cells(kinds));
      row.button = confirmButton(label, () => question(row.item), () => model.send({ ...message(row.item), confirmed: true }));
      row.append(h("td", { class: "tk-act" }, row.button));
      return row;
    };
    return (view, lock) => {
      const disabled = Boolean(lock) || view.readOnly;
      setText(note, view.mainnet ? "real money" : "");
      toggleClass(note, "tk-danger", view.mainnet);
      const held = view.positions || [];
      setText(positions.count, held.length);
      setText(positions.empty, held.length ? "" : view.loaded ? "No positions." : "Not loaded yet.");
      setVisible(positions.empty, !held.length);
      setVisible(positions.table, held.length);
      drawKeyed(
        positions.lines, held, (one) => one.symbol,
        withButton("ttnnnnnt", () => "Close", (one) => `Close ${one.size} at market?`, (one) => ({ do: "close", symbol: one.symbol, size: one.size })),
        (row, one, line) => {
          [one.symbol, one.side, one.size, one.entry, one.mark].forEach((text, index) => (index === 1 ? setSignedText(row[index], text) : setText(row[index], text)));
          setSignedText(row[5], one.pnl);
          setSignedText(row[6], one.roi);
          setText(row[7], one.leverage);
          line.button.dataset.name = `Close the ${one.symbol} position at market`;
          if (!line.button.hasAttribute("aria-label")) line.button.setAttribute("aria-label", line.button.dataset.name);
          setOff(line.button, disabled);
        },
      );
      const open = view.orders || [];
      setText(orders.count, open.length);
      setText(orders.empty, open.length ? "" : view.loaded ? "No open orders." : "Not loaded yet.");
      setVisible(orders.empty, !open.length);
      setVisible(orders.table, open.length);
      setVisible(all, open.length > 1);
      setOff(all, disabled);
      drawKeyed(
        orders.lines, open, (one) => one.id,
        withButton("tttnn", () => "Cancel", () => "Cancel order?", (one) => ({ do: "cancel", order: one.id })),
        (row, one, line) => {
          setText(row[0], one.symbol);
          setSignedText(row[1], one.side);
          setText(row[2], one.kind);
          setText(row[3], one.price);
          setText(row[4], one.quantity);
          line.button.dataset.name = `Cancel order ${one.id}: ${one.side.slice(2)} ${one.quantity} ${one.symbol} at ${one.price}`;
          if (!line.button.hasAttribute("aria-label")) line.button.setAttribute("aria-label", line.button.dataset.name);
          setOff(line.button, disabled);
        },
      );
      const done = view.fills || [];
      setText(fills.count, "");
      setText(fills.empty, done.length ? "" : view.loaded ? "No fills yet." : "Not loaded yet.");
      setVisible(fills.empty, !done.length);
      setVisible(fills.table, done.length);
      drawKeyed(fills.lines, done, (one) => one.id, () => h("tr", {}, ...cells("tttnnnn")), (row, one) => {
        setText(row[0], one.time);
        setText(row[1], one.symbol);
        setSignedText(row[2], one.side);
        setText(row[3], one.price);
        setText(row[4], one.quantity);
        setText(row[5], one.fee);
        setSignedText(row[6], one.pnl);
      });
      setText(notice, view.notice ? `✓ ${view.notice}` : "");
    };
  });
}
export default { render };
