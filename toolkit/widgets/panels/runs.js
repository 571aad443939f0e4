function render({ model, el }) {
  return renderPanel(model, el, () => "Runs on this account", (body) => {
    const columns = [{ name: "Run" }, { name: "State" }, { name: "Position" }, { name: "Profit (USDC)", num: true }, { name: "Last event" }, { name: "Agent until" }, { name: "" }];
    const { table, body: lines } = makeTable("Runs on this account", columns);
    const empty = h("p", { class: "tk-empty" }, "No run has a name on this account.");
    const notice = h("p", { class: "tk-notice", role: "status", "aria-live": "polite" });
    body.append(h("div", { class: "tk-wide" }, table), empty, h("div", { class: "tk-sub" }, notice));
    return (view, lock) => {
      const list = view.rows || [];
      setVisible(table, list.length);
      setVisible(empty, !list.length);
      const make = (one) => {
        const button = confirmButton("Stop", () => `Stop ${one.name}?`, () => sendPress(model, { do: "stop", name: one.name, confirmed: true }));
        button.dataset.name = `Stop ${one.name}`;
        button.setAttribute("aria-label", button.dataset.name);
        const row = h("tr", {}, h("th", { scope: "row" }), h("td"), h("td"), h("td", { class: "tk-num" }), h("td", { class: "tk-wrap" }), h("td"), h("td", { class: "tk-act" }, button));
        row.button = button;
        return row;
      };
      drawKeyed(lines, list, (one) => one.name, make, (cells, one, row) => {
        [one.name, one.state, one.positions].forEach((text, index) => setText(cells[index], text));
        setAttribute(cells[1], "title", one.why);
        setSignedText(cells[3], one.pnl);
        [one.event, one.until].forEach((text, index) => setText(cells[4 + index], text));
        setVisible(row.button, one.stoppable);
      });
      setText(notice, view.notice ? `✓ ${view.notice}` : "");
    };
  });
}
export default { render };
