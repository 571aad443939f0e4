/** A panel of terms, a meter, bars around the mark price, and tables: account, funding, liquidation map. */
function render({ model, el }) {
  return renderPanel(model, el, (view) => view.title || "", (body, id, { note }) => {
    const list = h("dl", { class: "tk-pairs" });
    const share = h("i");
    const bar = h("div", { class: "tk-meter", role: "meter", "aria-valuemin": "0", "aria-valuemax": "100", hidden: true }, share);
    const reading = h("p", { class: "tk-note", hidden: true });
    const bars = h("div", { class: "tk-bars", "aria-hidden": "true" });
    const tables = h("div");
    body.append(list, bar, reading, bars, tables);
    const made = [];
    return (view) => {
      setText(note, view.note);
      toggleClass(note, "tk-danger", view.danger);
      drawTerms(list, view.rows || [], (term, about) => setAttribute(term, "title", about));
      setVisible(bar, view.meter);
      setVisible(reading, view.meter);
      if (view.meter) {
        share.style.transform = `scaleX(${view.meter.share})`;
        setAttribute(bar, "aria-label", view.meter.name);
        setAttribute(bar, "aria-valuenow", String(Math.round(view.meter.share * 100)));
        setText(reading, view.meter.words);
      }
      // Each bar reaches from the mark price in the middle to the liquidation price, by its distance in percent.
      const shown = view.bars || [];
      const rows = fitRows(bars, shown.length, () => h("div", { class: "tk-map" }, h("span"), h("i", {}, h("b")), h("span", { class: "tk-num" })));
      shown.forEach((one, index) => {
        const [name, { firstChild: move }, text] = rows[index].children;
        setText(name, one.name);
        setText(text, one.text);
        const width = Math.min(50, Math.abs(one.move) * 50);
        move.style.left = `${one.move < 0 ? 50 - width : 50}%`;
        move.style.width = `${width}%`;
        move.className = one.move < 0 ? "tk-fall" : "tk-rise";
      });
      (view.tables || []).forEach((one, place) => {
        if (!made[place]) {
          const { table, draw } = makeTable(one.title, one.columns.map((name, index) => ({ name, num: index > 0, signed: true })));
          const empty = h("p", { class: "tk-empty" });
          tables.append(h("div", { class: "tk-sub" }, h("h4", {}, one.title)), h("div", { class: "tk-scroll", tabindex: "0", role: "group", "aria-label": one.title }, table), empty);
          made[place] = { table, draw, empty };
        }
        const { table, draw, empty } = made[place];
        setVisible(table, one.rows.length);
        setVisible(empty, !one.rows.length);
        setText(empty, view.loaded ? "None." : "Not loaded yet.");
        draw(one.rows);
      });
    };
  });
}
export default { render };
