function render({ model, el }) {
  return renderPanel(model, el, () => "Account", (body, id, { note }) => {
    const list = h("dl", { class: "tk-pairs" });
    const bar = h("div", { class: "tk-meter", role: "meter", "aria-label": "Margin in use", "aria-valuemin": "0", "aria-valuemax": "100" }, h("i"));
    const used = h("p", { class: "tk-note" });
    body.append(list, bar, used);
    return (view) => {
      setText(note, `${view.account || ""} · ${view.environment || ""}${view.status && view.status !== "NORMAL" ? ` · ${view.status}` : ""}`);
      toggleClass(note, "tk-danger", view.mainnet || (view.status && view.status !== "NORMAL" && view.status !== "–"));
      const entries = view.rows || [];
      const elements = fitRows(list, entries.length, () => h("div", {}, h("dt"), h("dd")));
      entries.forEach(([name, value, about], index) => {
        const [term, amount] = elements[index].children;
        setText(term, name);
        term.title = about;
        setSignedText(amount, value);
      });
      bar.firstChild.style.transform = `scaleX(${view.used || 0})`;
      bar.setAttribute("aria-valuenow", String(Math.round((view.used || 0) * 100)));
      setText(used, `${view.usedText || "–"} of equity is in use as margin`);
    };
  });
}
export default { render };
