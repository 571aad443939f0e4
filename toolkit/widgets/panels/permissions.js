function render({ model, el }) {
  return renderPanel(model, el, () => "Who may act for this account", (body, id, { note }) => {
    const { table, body: lines } = makeTable("Who may act for this account", ["Who", "Address", "May", "Until", "Fee cap", ""].map((name) => ({ name })));
    const empty = h("p", { class: "tk-empty" }, "Only the master wallet.");
    const reload = smallButton("Reload", () => sendPress(model, { do: "reload" }));
    const notice = h("p", { class: "tk-notice", role: "status", "aria-live": "polite" });
    body.append(h("div", { class: "tk-wide" }, table), empty, h("div", { class: "tk-sub" }, notice, reload));
    return (view, lock) => {
      const list = view.rows || [];
      setText(note, view.master ? "" : "no master key: read-only");
      setVisible(table, list.length);
      setVisible(empty, !list.length);
      const make = (one) => {
        const button = confirmButton("Revoke", () => `Revoke ${one.name}?`, () => sendPress(model, { do: "revoke", who: one.full, confirmed: true }));
        button.dataset.name = `Revoke ${one.kind} ${one.name} ${one.address}`;
        button.setAttribute("aria-label", button.dataset.name);
        const row = h("tr", {}, h("th", { scope: "row" }), h("td", { title: one.full }), h("td", { class: "tk-wrap" }), h("td"), h("td"), h("td", { class: "tk-act" }, button));
        row.button = button;
        return row;
      };
      drawKeyed(lines, list, (one) => `${one.kind} ${one.full} ${one.name}`, make, (cells, one, row) => {
        const texts = [`${one.kind} ${one.name}${one.own ? " (this session)" : ""}`, one.of ? `${one.address} of ${one.of}` : one.address, one.may, one.until, one.cap];
        texts.forEach((text, index) => setText(cells[index], text));
        setVisible(row.button, one.revocable);
        setOff(row.button, !view.master || Boolean(lock));
      });
      setText(notice, view.notice ? `✓ ${view.notice}` : view.complete === false ? "Builders unknown to this session are not shown." : "");
    };
  });
}
export default { render };
