function render({ model, el }) {
  return renderPanel(model, el, (view) => `${view.symbol || ""} trades`, (body) => {
    const columns = [{ name: "Time" }, { name: "Taker", signed: true }, { name: "Price", num: true }, { name: "Quantity", num: true }];
    const { table, draw } = makeTable("Latest trades, newest first", columns);
    const empty = h("p", { class: "tk-empty" }, "No trades yet.");
    body.append(h("div", { class: "tk-scroll", tabindex: "0", role: "region", "aria-label": "Trades" }, table, empty));
    return (view) => {
      const list = view.rows || [];
      setText(empty, view.loaded ? "No trades yet." : "Not loaded yet.");
      setVisible(empty, !list.length);
      const rows = draw(list);
      list.forEach(([, side], index) => colourBy(rows[index].children[2], side));
    };
  });
}
export default { render };
