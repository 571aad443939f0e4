function render({ model, el }) {
  return renderPanel(model, el, () => "Who may act for this account", (body, id, { note }) => {
    const { table, body: lines } = makeTable("Who may act for this account", ["Who", "Address", "May", "Until", "Fee cap", ""].map((name) => ({ name })));
    const empty = h("p", { class: "tk-empty" }, "Only the master wallet.");
    const reload = h("button", { type: "button", class: "tk-small" }, "Reload");
    reload.addEventListener("click", () => model.send({ do: "reload" }));
    const notice = h("p", { class: "tk-notice", role: "status", "aria-live": "polite" });
    body.append(h("div", { class: "tk-wide" }, table), empty, h("div", { class: "tk-sub" }, notice, reload));
    return (view, lock) => {
      const list = view.rows || [];
      setText(note, view.master ? "" : "no master key: read-only");
      setVisible(table, list.length);
      setVisible(empty, !list.length);
      const known = new Map([...lines.children].map((row) => [row.dataset.key, row]));
      list.forEach((one, index) => {
        const key = `${one.kind} ${one.full} ${one.name}`;
        let row = known.get(key);
        if (!row) {
          const button = confirmButton(() => "Revoke", () => `Revoke ${one.name}?`, () => model.send({ do: "revoke", who: one.full, confirmed: true }));
          button.dataset.name = `Revoke ${one.kind} ${one.name} ${one.address}`;
          button.setAttribute("aria-label", button.dataset.name);
          row = h("tr", {}, h("th", { scope: "row" }), h("td", { title: one.full }), h("td", { class: "tk-wrap" }), h("td"), h("td"), h("td", { class: "tk-act" }, button));
          row.dataset.key = key;
          row.button = button;
        }
        known.delete(key);
        if (lines.children[index] !== row) lines.insertBefore(row, lines.children[index] || null);
        setText(row.children[0], `${one.kind} ${one.name}${one.own ? " (this session)" : ""}`);
        setText(row.children[1], one.of ? `${one.address} of ${one.of}` : one.address);
        setText(row.children[2], one.may);
        setText(row.children[3], one.until);
        setText(row.children[4], one.cap);
        setVisible(row.button, one.revocable);
        row.button.disabled = !view.master || Boolean(lock);
      });
      for (const row of known.values()) row.remove();
      setText(notice, view.notice ? `✓ ${view.notice}` : view.complete === false ? "Builders unknown to this session are not shown." : "");
    };
  });
}
export default { render };
