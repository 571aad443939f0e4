const HISTORIES = { fills: "Fills", orders: "Order history", funding: "Funding" };

function render({ model, el }) {
  return renderPanel(model, el, (view) => (view.symbol ? `${view.symbol} positions and orders` : "Positions and orders"), (body, id, { note, root }) => {
    root.classList.add("tk-blotter");
    const num = (key, name, signed) => ({ key, name, num: true, signed });
    const text = (key, name, signed) => ({ key, name, signed });
    const confirmed = (row, label, question, message) => confirmButton(() => label, () => question(row.item), () => model.send({ ...message(row.item), confirmed: true }));
    const named = (button, name, off) => {
      button.dataset.name = name;
      if (!button.classList.contains("tk-armed")) setAttribute(button, "aria-label", name);
      setOff(button, off);
    };
    let off = false;

    const positions = dataTable("Positions", [
      text("symbol", "Product"), text("side", "Side", true), num("size", "Size"), num("entry", "Entry"), num("mark", "Mark"), num("liquidation", "Liq. price"),
      num("margin", "Margin"), num("pnl", "PnL", true), num("roi", "Return", true), num("funding", "Funding", true), text("leverage", "Leverage"), text("exits", "TP / SL"),
    ], {
      empty: "No positions.",
      actions: {
        make: (row) => {
          row.edit = h("button", { type: "button", class: "tk-small" }, "Edit");
          row.edit.addEventListener("click", () => editor.open(row.edit, row.item, "position"));
          row.close = confirmed(row, "Close", (one) => `Close ${one.size} at market?`, (one) => ({ do: "close", symbol: one.symbol, size: one.size }));
          return [row.edit, row.close];
        },
        draw: (row, one) => {
          named(row.close, `Close the ${one.symbol} position at market`, off);
          named(row.edit, `Edit the ${one.symbol} position: close a part, take profit, stop loss`, off || !one.one);
        },
      },
    });
    const all = confirmButton(() => "Cancel all", () => "Cancel all?", () => model.send({ do: "cancelAll", confirmed: true }));
    const orders = dataTable("Open orders", [text("symbol", "Product"), text("side", "Side", true), text("kind", "Kind"), num("price", "Price"), num("quantity", "Remaining / total")], {
      empty: "No open orders.",
      buttons: [all],
      actions: {
        make: (row) => {
          row.amend = h("button", { type: "button", class: "tk-small" }, "Amend");
          row.amend.addEventListener("click", () => editor.open(row.amend, row.item, "order"));
          row.cancel = confirmed(row, "Cancel", () => "Cancel order?", (one) => ({ do: "cancel", order_id: one.id }));
          return [row.amend, row.cancel];
        },
        draw: (row, one) => {
          const words = `order ${one.id}: ${one.side.slice(2)} ${one.quantity} ${one.symbol} at ${one.price}`;
          named(row.cancel, `Cancel ${words}`, off);
          named(row.amend, `Amend ${words}`, off);
        },
      },
    });
    const parents = dataTable("Orders over time", [
      text("symbol", "Product"), text("side", "Side", true), text("kind", "Kind"), num("filled", "Filled / total"), num("average", "Average"), num("orders", "Orders"), text("next", "Next"), text("status", "Status"), text("message", "Message"),
    ], {
      actions: {
        make: (row) => {
          const act = (label, question, name) => confirmed(row, label, () => question, (one) => ({ do: "parent", parent: one.id, act: name }));
          [row.resume, row.cancel] = [act("Continue", "Continue now?", "resume"), act("Cancel", "Cancel the rest?", "cancel")];
          return [row.resume, row.cancel];
        },
        draw: (row, one) => {
          const words = `the ${one.kind} of ${one.filled} ${one.symbol}`;
          named(row.resume, `Continue ${words}`, off);
          named(row.cancel, `Cancel ${words}`, off);
          setVisible(row.resume, one.idle);
          setVisible(row.cancel, one.open);
        },
      },
    });
    const histories = {
      fills: dataTable("Fills", [text("time", "Time"), text("symbol", "Product"), text("side", "Side", true), num("price", "Price"), num("quantity", "Quantity"), num("fee", "Fee"), num("pnl", "PnL", true)], { empty: "No fills yet." }),
      orders: dataTable("Order history", [text("time", "Time"), text("symbol", "Product"), text("side", "Side", true), text("order", "Order"), text("status", "Status"), num("price", "Price"), num("quantity", "Quantity"), text("what", "Fill or reason")], { empty: "No orders yet." }),
      funding: dataTable("Funding", [text("time", "Time"), text("symbol", "Product"), text("side", "Side"), num("size", "Size"), num("rate", "Rate"), num("amount", "Amount", true)], { empty: "No funding yet." }),
    };
    const filter = h("input", { type: "text", id: `${id}-filter`, placeholder: "Filter", "aria-label": "Filter all tables", autocomplete: "off" });
    filter.addEventListener("keydown", (event) => event.stopPropagation());
    filter.addEventListener("input", () => {
      for (const one of [positions, orders, parents, ...Object.values(histories)]) one.filter(filter.value);
      drawTables();
    });
    const tabs = h("div", { class: "tk-switch", role: "group", "aria-label": "History" });
    const tabButtons = Object.entries(HISTORIES).map(([name, label]) => {
      const button = h("button", { type: "button", class: "tk-small" }, label);
      button.addEventListener("click", () => {
        model.set("history", name);
        model.save_changes();
      });
      tabs.append(button);
      return { name, button };
    });
    const editor = makeEditor(model, id);
    const review = reviewPart(model, id, root, () => editor.focus(), () => (editor.close(), true));
    const notice = h("p", { class: "tk-notice", role: "status", "aria-live": "polite" });
    const boxes = Object.fromEntries(Object.entries(histories).map(([name, one]) => [name, h("div", {}, ...one.parts)]));
    const parentBox = h("div", { class: "tk-part" }, ...parents.parts);
    body.append(filter, review.element, editor.element, ...positions.parts, ...orders.parts, parentBox, tabs, ...Object.values(boxes), notice);

    const drawTables = () => {
      const view = model.get("view");
      positions.draw(view.positions || [], view.loaded);
      orders.draw(view.orders || [], view.loaded);
      parents.draw(view.parents || [], view.loaded);
      setVisible(parentBox, (view.parents || []).length);
      const shown = view.history || "fills";
      histories[shown].draw({ fills: view.fills, orders: view.events, funding: view.funding }[shown] || [], view.loaded);
      for (const [name, box] of Object.entries(boxes)) setVisible(box, name === shown);
      for (const { name, button } of tabButtons) setAttribute(button, "aria-pressed", String(name === shown));
    };
    return (view, lock) => {
      off = Boolean(lock) || view.readOnly;
      setText(note, view.mainnet ? "real money" : "");
      toggleClass(note, "tk-danger", view.mainnet);
      setVisible(all, (view.orders || []).length > 1);
      setOff(all, off);
      drawTables();
      review.draw(view, off);
      setVisible(editor.element, editor.isOpen() && review.element.hidden);
      setText(notice, view.notice ? `✓ ${view.notice}` : "");
    };
  });
}

/** The form that edits one row; each of its buttons asks Python for a request to review. */
function makeEditor(model, id) {
  const title = h("p", { class: "tk-question", id: `${id}-editing` });
  const fields = h("div", { class: "tk-edit-fields" });
  const shut = h("button", { type: "button", class: "tk-small" }, "Done");
  const element = h("div", { class: "tk-edit", role: "group", "aria-labelledby": title.id, hidden: true }, title, fields, shut);
  let from = null;
  const close = () => {
    element.hidden = true;
    const target = from && from.isConnected ? from : element.closest(".tk").querySelector(".tk-title");
    if (target.tagName === "H3") target.tabIndex = -1;
    target.focus();
    from = null;
  };
  const line = (name, label, value, button, send) => {
    const input = h("input", { type: "text", id: `${id}-edit-${name}`, inputmode: "decimal", autocomplete: "off", spellcheck: "false" });
    input.value = value;
    const press = h("button", { type: "button", class: "tk-small", "aria-label": button.includes(" ") ? button : `${button} ${label.toLowerCase()}` }, button);
    press.addEventListener("click", () => send(input.value.trim()));
    input.addEventListener("keydown", (event) => event.key === "Enter" && send(input.value.trim()));
    return h("div", { class: "tk-edit-line" }, h("label", { for: input.id }, label), input, press);
  };
  shut.addEventListener("click", close);
  element.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") close();
  });
  return {
    element,
    close: () => (from ? close() : undefined),
    focus: () => (from ? fields.querySelector("input") || from : element.closest(".tk").querySelector(".tk-title")).focus(),
    isOpen: () => from !== null,
    open(button, one, kind) {
      from = button;
      if (kind === "order") {
        setText(title, `Order ${one.id}: ${one.side} ${one.symbol}, ${one.kind}`);
        fields.replaceChildren(
          line("price", one.price.includes("when") ? "Trigger price" : "Price", one.move, "Change", (price) => model.send({ do: "amend", order_id: one.id, price })),
          ...(one.total ? [line("quantity", "Quantity", one.total, "Change", (quantity) => model.send({ do: "amend", order_id: one.id, quantity }))] : []),
        );
      } else {
        setText(title, `${one.symbol} ${one.side} ${one.size}`);
        const shares = [25, 50, 75].map((share) => {
          const press = h("button", { type: "button", class: "tk-small" }, `Close ${share} %`);
          press.addEventListener("click", () => model.send({ do: "reduce", symbol: one.symbol, share }));
          return press;
        });
        const exit = (name, label) => line(name, label, one[name], "Set", (price) => model.send({ do: "setExit", symbol: one.symbol, kind: name, price }));
        fields.replaceChildren(
          h("div", { class: "tk-edit-line" }, ...shares), line("part", "Quantity to close", "", "Close this much", (quantity) => model.send({ do: "reduce", symbol: one.symbol, quantity })),
          exit("take_profit", "Take profit at"), exit("stop_loss", "Stop loss at"),
        );
      }
      element.hidden = false;
      fields.querySelector("input").focus();
    },
  };
}
export default { render };
