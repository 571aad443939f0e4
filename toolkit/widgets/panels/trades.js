function render({ model, el }) {
  return panel(model, el, (view) => `${view.symbol || ""} trades`, (body) => {
    const { table, body: lines } = grid("Latest trades, newest first", [
      { name: "Time" }, { name: "Taker" }, { name: "Price", num: true }, { name: "Quantity", num: true },
    ]);
    const empty = h("p", { class: "tk-empty" }, "No trades yet.");
    body.append(h("div", { class: "tk-scroll", tabindex: "0", role: "region", "aria-label": "Trades" }, table, empty));
    const make = () => h("tr", {}, h("td"), h("td"), h("td", { class: "tk-num" }), h("td", { class: "tk-num" }));
    return (view) => {
      const list = view.rows || [];
      show(empty, !list.length);
      const made = rows(lines, list.length, make);
      list.forEach((one, index) => {
        const [time, side, price, quantity] = made[index].children;
        put(time, one[0]);
        paint(side, one[1]);
        put(price, one[2]);
        put(quantity, one[3]);
        const kind = tone(one[1]);
        toggle(price, "tk-up", kind === "up");
        toggle(price, "tk-down", kind === "down");
      });
    };
  });
}
export default { render };
