function render({ model, el }) {
  return renderPanel(model, el, (view) => `${view.symbol || ""} order book`, (body) => {
    const head = h(
      "div", { class: "tk-book-row tk-book-head", "aria-hidden": "true" },
      h("span", {}, "Price (USDC)"), h("span", {}, "Quantity"), h("span", {}, "Total"),
    );
    const asks = h("div", { class: "tk-asks", role: "list", "aria-label": "Asks, highest first" });
    const [mid, spread, mark] = [h("strong"), h("span", { class: "tk-note" }), h("span", { class: "tk-note" })];
    const middle = h("div", { class: "tk-mid" }, mid, spread, mark);
    const bids = h("div", { class: "tk-bids", role: "list", "aria-label": "Bids, highest first" });
    const widths = () => model.get("view").groups || [];
    const group = switchGroup("Price step", (text) => setTrait(model, "group", (widths().find((one) => one[1] === text) || [1])[0]));
    body.append(group.group, h("div", { class: "tk-book", "data-rove": true }, head, asks, middle, bids));

    const make = (side) => () => {
      const row = h(
        "div", { class: `tk-book-row ${side}`, role: "listitem" },
        h("span", { class: "tk-price" }), h("span"), h("span"), h("i", { class: "tk-bar", "aria-hidden": "true" }),
      );
      const pick = () => {
        if (model.get("view").pick && row.dataset.price && !model.get("lock") && !body.disabled) {
          sendPress(model, { do: "pick", price: row.dataset.price });
        }
      };
      row.addEventListener("click", pick);
      row.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          pick();
        }
      });
      return row;
    };
    const fill = (parent, levels, side, sign, view) => {
      const elements = fitRows(parent, view.depth || levels.length, make(side));
      levels.forEach((level, index) => {
        const row = elements[index];
        const [price, quantity, total, bar] = row.children;
        toggleClass(row, "tk-void", !level);
        row.dataset.price = level ? level[4] : "";
        toggleClass(row, "tk-pick", view.pick);
        if (!level) return;
        setText(price, `${sign} ${level[0]}`);
        setText(quantity, level[1]);
        setText(total, level[2]);
        const left = `${((1 - level[3]) * 100).toFixed(1)}%`;
        if (bar.style.left !== left) bar.style.left = left;
        if (view.pick) row.setAttribute("aria-label", `use price ${level[0]}`);
      });
    };
    return (view) => {
      group.draw(widths().map((one) => one[1]), widths().filter((one) => one[0] === model.get("group")).map((one) => one[1]));
      const padded = (levels) => [...(levels || []), ...Array(Math.max(0, (view.depth || 0) - (levels || []).length)).fill(null)];
      fill(asks, padded(view.asks).reverse(), "tk-ask", "▼", view);
      fill(bids, padded(view.bids), "tk-bid", "▲", view);
      setText(mid, view.mid);
      setText(spread, `spread ${view.spread || ""} ${view.spreadPct ? `(${view.spreadPct})` : ""}`);
      setText(mark, `mark ${view.mark || ""}`);
    };
  });
}
export default { render };
