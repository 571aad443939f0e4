function render({ model, el }) {
  return renderPanel(model, el, (view) => `${view.symbol || ""} trades`, (body) => {
    const { table, body: lines } = makeTable("Latest trades, newest first", [
      { name: "Time" }, { name: "Taker" }, { name: "Price", num: true }, { name: "Quantity", num: true },
    ]);
    const empty = h("p", { class: "tk-empty" }, "No trades yet.");
    body.append(h("div", { class: "tk-scroll", tabindex: "0", role: "region", "aria-label": "Trades" }, table, empty));
    const make = () => h("tr", {}, h("td"), h("td"), h("td", { class: "tk-num" }), h("td", { class: "tk-num" }));
    return (view) => {
      const list = view.rows || [];
      setText(empty, view.loaded ? "No trades yet." : "Not loaded yet.");
      setVisible(empty, !list.length);
      const elements = fitRows(lines, list.length, make);
      list.forEach((one, index) => {
        const [time, side, price, quantity] = elements[index].children;
        setText(time, one[0]);
        setSignedText(side, one[1]);
        setText(price, one[2]);
        setText(quantity, one[3]);
        const kind = direction(one[1]);
        toggleClass(price, "tk-up", kind === "up");
        toggleClass(price, "tk-down", kind === "down");
      });
    };
  });
}
export default { render };
