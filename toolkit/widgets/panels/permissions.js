function render({ model, el }) {
  return panel(model, el, () => "Who may act for this account", (body, id, { note }) => {
    const { table, body: lines } = grid("Who may act for this account", ["Who", "Address", "May", "Until", "Fee cap", ""].map((name) => ({ name })));
    const empty = h("p", { class: "tk-empty" }, "Nobody but the master wallet.");
    const reload = h("button", { type: "button", class: "tk-small" }, "Reload");
    reload.addEventListener("click", () => model.send({ do: "reload" }));
    const told = h("p", { class: "tk-told", role: "status", "aria-live": "polite" });
    body.append(h("div", { class: "tk-wide" }, table), empty, h("div", { class: "tk-sub" }, told, reload));
    return (view, lock) => {
      const list = view.rows || [];
      put(note, view.master ? "" : "no master key here: read only");
      show(table, list.length);
      show(empty, !list.length);
      const known = new Map([...lines.children].map((row) => [row.dataset.key, row]));
      list.forEach((one, index) => {
        const key = `${one.kind} ${one.full} ${one.name}`;
        let row = known.get(key);
        if (!row) {
          const button = careful(() => "Revoke", () => `Revoke ${one.name}?`, () => model.send({ do: "revoke", who: one.full, confirmed: true }));
          button.dataset.name = `Revoke ${one.kind} ${one.name} ${one.address}`;
          button.setAttribute("aria-label", button.dataset.name);
          row = h("tr", {}, h("th", { scope: "row" }), h("td", { title: one.full }), h("td", { class: "tk-wrap" }), h("td"), h("td"), h("td", { class: "tk-act" }, button));
          row.dataset.key = key;
          row.button = button;
        }
        known.delete(key);
        if (lines.children[index] !== row) lines.insertBefore(row, lines.children[index] || null);
        put(row.children[0], `${one.kind} ${one.name}${one.own ? " (this session)" : ""}`);
        put(row.children[1], one.of ? `${one.address} of ${one.of}` : one.address);
        put(row.children[2], one.may);
        put(row.children[3], one.until);
        put(row.children[4], one.cap);
        show(row.button, one.revocable);
        row.button.disabled = !view.master || Boolean(lock);
      });
      for (const row of known.values()) row.remove();
      put(told, view.told ? `✓ ${view.told}` : view.complete === false ? "Builders that this session does not know are not shown." : "");
    };
  });
}
export default { render };
