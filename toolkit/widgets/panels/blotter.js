const HISTORIES = { Fills: "fills", "Order history": "orders", Funding: "funding" };

function render({ model, el }) {
  return renderPanel(model, el, (view) => (view.symbol ? `${view.symbol} positions and orders` : "Positions and orders"), (body, id, { note, root }) => {
    root.classList.add("tk-blotter");
    const num = (key, name, signed) => ({ key, name, num: true, signed });
    const text = (key, name, signed) => ({ key, name, signed });
    let off = false;
    /** The buttons of each row: { label, name, off, shown } with `ask` and `send` for one that asks first, with `press` for another. */
    const actionsOf = (...acts) => ({
      make: (row) => (row.buttons = acts.map(({ label, ask, send, press }) => (ask
        ? confirmButton(label, () => ask(row.item), () => sendPress(model, { ...send(row.item), confirmed: true }))
        : smallButton(label, (event) => press(event.currentTarget, row.item))))),
      draw: (row, one) => acts.forEach((act, index) => {
        const button = row.buttons[index];
        button.dataset.name = act.name(one);
        if (!button.classList.contains("tk-armed")) setAttribute(button, "aria-label", button.dataset.name);
        setOff(button, off || (act.off && act.off(one)));
        if (act.shown) setVisible(button, act.shown(one));
      }),
    });

    const positions = dataTable("Positions", [
      text("symbol", "Product"), text("side", "Side", true), num("size", "Size"), num("entry", "Entry"), num("mark", "Mark"), num("liquidation", "Liq. price"),
      num("margin", "Margin"), num("pnl", "PnL", true), num("roi", "Return", true), num("funding", "Funding", true), text("leverage", "Leverage"), text("exits", "TP / SL"),
    ], {
      empty: "No positions.",
      actions: actionsOf(
        { label: "Edit", name: (one) => `Edit the ${one.symbol} position: close a part, take profit, stop loss`, press: (button, one) => editor.open(button, one, "position"), off: (one) => !one.one },
        { label: "Close", name: (one) => `Close the ${one.symbol} position at market`, ask: (one) => `Close ${one.size} at market?`, send: (one) => ({ do: "close", symbol: one.symbol, size: one.size }) },
      ),
    });
    const all = confirmButton("Cancel all", () => "Cancel all?", () => sendPress(model, { do: "cancelAll", confirmed: true }));
    const closeAll = smallButton("Close all", () => sendPress(model, { do: "closeAll" }));
    positions.part.querySelector(".tk-tail").prepend(closeAll);
    const orderWords = (one) => `order ${one.id}: ${one.side.slice(2)} ${one.quantity} ${one.symbol} at ${one.price}`;
    const orders = dataTable("Open orders", [text("symbol", "Product"), text("side", "Side", true), text("kind", "Kind"), num("price", "Price"), num("quantity", "Remaining / total")], {
      empty: "No open orders.",
      buttons: [all],
      actions: actionsOf(
        { label: "Amend", name: (one) => `Amend ${orderWords(one)}`, press: (button, one) => editor.open(button, one, "order") },
        { label: "Cancel", name: (one) => `Cancel ${orderWords(one)}`, ask: () => "Cancel order?", send: (one) => ({ do: "cancel", order_id: one.id }) },
      ),
    });
    const parentWords = (one) => `the ${one.kind} of ${one.filled} ${one.symbol}`;
    const act = (name) => (one) => ({ do: "parent", parent: one.id, act: name });
    const parents = dataTable("Orders over time", [
      text("symbol", "Product"), text("side", "Side", true), text("kind", "Kind"), num("filled", "Filled / total"), num("average", "Average"), num("orders", "Orders"), text("next", "Next"), text("status", "Status"), text("message", "Message"),
    ], {
      actions: actionsOf(
        { label: "Continue", name: (one) => `Continue ${parentWords(one)}`, ask: () => "Continue now?", send: act("resume"), shown: (one) => one.idle },
        { label: "Cancel", name: (one) => `Cancel ${parentWords(one)}`, ask: () => "Cancel the rest?", send: act("cancel"), shown: (one) => one.open },
      ),
    });
    const histories = {
      fills: dataTable("Fills", [text("time", "Time"), text("symbol", "Product"), text("side", "Side", true), { ...text("kind", "Kind"), unknown: "The venue does not say of which kind this order was." }, num("price", "Price"), num("quantity", "Quantity"), num("fee", "Fee"), num("pnl", "PnL", true)], { empty: "No fills yet." }),
      orders: dataTable("Order history", [text("time", "Time"), text("symbol", "Product"), text("side", "Side", true), text("kind", "Kind"), text("order", "Order"), text("status", "Status"), num("price", "Price"), num("quantity", "Quantity"), text("what", "Fill or reason")], { empty: "No orders yet." }),
      funding: dataTable("Funding", [text("time", "Time"), text("symbol", "Product"), text("side", "Side"), num("size", "Size"), num("rate", "Rate"), num("amount", "Amount", true)], { empty: "No funding yet." }),
    };
    const filter = h("input", { type: "text", id: `${id}-filter`, placeholder: "Filter", "aria-label": "Filter all tables", autocomplete: "off" });
    filter.addEventListener("input", () => {
      for (const one of [positions, orders, parents, ...Object.values(histories)]) one.filter(filter.value);
      drawTables();
    });
    const tabs = switchGroup("Tables", (label) => {
      const name = label.replace(/ \d+$/, "");
      if (HISTORIES[name]) model.set("history", HISTORIES[name]);
      setTrait(model, "tab", HISTORIES[name] ? "history" : name.toLowerCase());
    });
    const sound = switchGroup("Notice", () => setTrait(model, "sound", !model.get("sound")));
    let heard;
    const editor = makeEditor(model, id);
    const review = reviewPart(model, id, root, () => editor.focus(), () => (editor.close(), true));
    const notice = h("p", { class: "tk-notice", role: "status", "aria-live": "polite" });
    const boxes = Object.fromEntries(Object.entries(histories).map(([name, one]) => [name, h("div", {}, one.part)]));
    body.append(tabs.group, filter, sound.group, review.element, editor.element, positions.part, orders.part, parents.part, ...Object.values(boxes), notice);

    const drawTables = () => {
      const view = model.get("view");
      positions.draw(view.positions || [], view.loaded);
      orders.draw(view.orders || [], view.loaded);
      parents.draw(view.parents || [], view.loaded);
      const tab = model.get("tab") || "all";
      const on = (name) => tab === "all" || tab === name;
      setVisible(positions.part, on("positions"));
      setVisible(orders.part, on("orders"));
      setVisible(parents.part, on("orders") && (view.parents || []).length);
      const shown = view.history || "fills";
      histories[shown].draw({ fills: view.fills, orders: view.events, funding: view.funding }[shown] || [], view.loaded);
      for (const [name, box] of Object.entries(boxes)) setVisible(box, on("history") && name === shown);
      const counted = { Positions: view.positions, Orders: view.orders, Fills: view.fills };
      const names = ["All", "Positions", "Orders", ...Object.keys(HISTORIES)];
      const labels = names.map((name) => ((counted[name] || []).length ? `${name} ${counted[name].length}` : name));
      tabs.draw(labels, labels.filter((_, at) => (tab === "history" ? HISTORIES[names[at]] === shown : names[at].toLowerCase() === tab)));
    };
    return (view, lock) => {
      off = Boolean(lock) || view.readOnly;
      sound.draw(["Sound at a fill"], model.get("sound") ? ["Sound at a fill"] : []);
      const [when, kind, what] = ((model.get("beat") || {}).news || [])[0] || [];
      // What had happened before the page was drawn is no news.
      const before = heard;
      heard = `${when} ${what}`;
      if (before !== undefined && before !== heard && kind === "filled" && model.get("sound")) beep();
      setText(note, view.mainnet ? "real money" : "");
      toggleClass(note, "tk-danger", view.mainnet);
      setVisible(all, (view.orders || []).length > 1);
      setOff(all, off);
      setVisible(closeAll, (view.positions || []).length > 1);
      setOff(closeAll, off);
      drawTables();
      review.draw(view, off);
      setVisible(editor.element, editor.isOpen() && review.element.hidden);
      setText(notice, view.notice ? `✓ ${view.notice}` : "");
    };
  });
}

function beep() {
  const context = new AudioContext();
  const tone = context.createOscillator();
  tone.connect(context.destination);
  tone.onended = () => context.close();
  tone.start();
  tone.stop(context.currentTime + 0.12);
}

/** The form that edits one row; each of its buttons asks Python for a request to review. */
function makeEditor(model, id) {
  const title = h("p", { class: "tk-question", id: `${id}-editing` });
  const fields = h("div", { class: "tk-edit-fields" });
  const shut = smallButton("Done", () => close());
  const element = h("div", { class: "tk-edit", role: "group", "aria-labelledby": title.id, hidden: true }, title, fields, shut);
  let from = null;
  const close = () => {
    element.hidden = true;
    focusOrTitle(from && from.isConnected ? from : null, element);
    from = null;
  };
  const line = (name, label, value, button, send) => {
    const input = h("input", { type: "text", id: `${id}-edit-${name}`, inputmode: "decimal", autocomplete: "off", spellcheck: "false" });
    input.value = value;
    const press = smallButton(button, () => send(input.value.trim()), { "aria-label": button.includes(" ") ? button : `${button} ${label.toLowerCase()}` });
    input.addEventListener("keydown", (event) => event.key === "Enter" && send(input.value.trim()));
    return h("div", { class: "tk-edit-line" }, h("label", { for: input.id }, label), input, press);
  };
  element.addEventListener("keydown", (event) => event.key === "Escape" && close());
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
          line("price", one.price.includes("when") ? "Trigger price" : "Price", one.move, "Change", (price) => sendPress(model, { do: "amend", order_id: one.id, price })),
          ...(one.total ? [line("quantity", "Quantity", one.total, "Change", (quantity) => sendPress(model, { do: "amend", order_id: one.id, quantity }))] : []),
        );
      } else {
        setText(title, `${one.symbol} ${one.side} ${one.size}`);
        const shares = [25, 50, 75].map((share) => smallButton(`Close ${share} %`, () => sendPress(model, { do: "reduce", symbol: one.symbol, share })));
        const exit = (name, label) => line(name, label, one[name], "Set", (price) => sendPress(model, { do: "setExit", symbol: one.symbol, kind: name, price }));
        fields.replaceChildren(
          h("div", { class: "tk-edit-line" }, ...shares, smallButton("Reverse", () => sendPress(model, { do: "reverse", symbol: one.symbol }))), line("part", "Quantity to close", "", "Close this much", (quantity) => sendPress(model, { do: "reduce", symbol: one.symbol, quantity })),
          exit("take_profit", "Take profit at"), exit("stop_loss", "Stop loss at"),
        );
      }
      element.hidden = false;
      fields.querySelector("input").focus();
    },
  };
}
export default { render };
