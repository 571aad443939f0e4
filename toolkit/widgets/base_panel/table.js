/** A table that is sorted by a click on a column, filtered by a text, and copied as CSV. `columns`: { key, name, num, signed, unknown }, the last is the title of a dash. */
function dataTable(title, columns, { actions = null, empty = "", buttons = [] } = {}) {
  const body = h("tbody");
  let order = null;
  let filter = "";
  let shown = [];
  let redraw = () => {};
  const heads = columns.map((column) => {
    const button = h("button", { type: "button", class: "tk-sort" }, column.name);
    const head = h("th", { scope: "col", class: column.num ? "tk-num" : null, "aria-sort": "none" }, button);
    button.addEventListener("click", () => {
      order = order && order.key === column.key ? (order.down ? null : { key: column.key, down: true }) : { key: column.key, down: false };
      heads.forEach((one, index) => setAttribute(one, "aria-sort", order && columns[index].key === order.key ? (order.down ? "descending" : "ascending") : "none"));
      redraw();
    });
    return head;
  });
  const last = actions ? h("th", { scope: "col", class: "tk-act" }, h("span", { class: "tk-hidden" }, "Action")) : null;
  const table = h("table", { class: "tk-table" }, h("caption", { class: "tk-hidden" }, title), h("thead", {}, h("tr", {}, ...heads, last)), body);
  const count = h("span", { class: "tk-count" });
  const csvText = () => {
    const cell = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const lines = [columns.map((one) => cell(one.name)), ...shown.map((row) => columns.map((one) => cell(plainText(row[one.key], one.num))))];
    return lines.map((line) => line.join(",")).join("\n") + "\n";
  };
  const copyShown = async () => {
    const done = await copyText(csvText(), copy);
    setText(copy, done ? "Copied" : "Not copied");
    setTimeout(() => setText(copy, "Copy CSV"), 1500);
  };
  const copy = smallButton("Copy CSV", copyShown, { class: "tk-small tk-quiet", "aria-label": `Copy ${title.toLowerCase()} as CSV` });
  const saveShown = () => {
    const url = URL.createObjectURL(new Blob([csvText()], { type: "text/csv" }));
    h("a", { href: url, download: `${title.toLowerCase().replaceAll(" ", "-")}.csv` }).click();
    URL.revokeObjectURL(url);
  };
  const save = smallButton("Save CSV", saveShown, { class: "tk-small tk-quiet", "aria-label": `Save ${title.toLowerCase()} as a CSV file` });
  const note = h("p", { class: "tk-empty" });
  const head = h("div", { class: "tk-sub" }, h("h4", {}, title), count, h("span", { class: "tk-tail", "data-rove": true }, ...buttons, copy, save));
  const make = (one) => {
    const row = h("tr", {}, ...columns.map((column) => h("td", column.num ? { class: "tk-num" } : {})));
    if (actions) row.append(h("td", { class: "tk-act" }, ...actions.make(row, one)));
    return row;
  };
  return {
    part: h("div", { class: "tk-part" }, head, h("div", { class: "tk-wide", role: "region", "aria-label": title, "data-rove": true }, table), note),
    filter: (text) => (filter = text.trim().toLowerCase()),
    draw(rows, loaded) {
      redraw = () => this.draw(rows, loaded);
      shown = rows.filter((row) => !filter || columns.some((one) => String(row[one.key] || "").toLowerCase().includes(filter)));
      if (order) shown = sortRows(shown, order);
      setText(count, filter && shown.length !== rows.length ? `${shown.length} of ${rows.length}` : rows.length);
      setText(note, shown.length ? "" : !loaded ? "Not loaded yet." : rows.length ? "Nothing matches the filter." : empty);
      setVisible(note, !shown.length);
      setVisible(table, shown.length);
      setVisible(copy, shown.length);
      setVisible(save, shown.length);
      drawKeyed(body, shown, (one) => one.id || one.symbol, make, (cells, one, row) => {
        columns.forEach((column, index) => {
          (column.signed ? setSignedText : setText)(cells[index], one[column.key]);
          if (column.unknown) setAttribute(cells[index], "title", one[column.key] === "–" ? column.unknown : "");
        });
        if (actions) actions.draw(row, one);
      });
    },
  };
}

/** Return the number that a text begins with, after its arrow or sign; NaN for other texts. */
function numberOf(text) {
  return parseFloat(String(text).replaceAll(",", "").replace("−", "-").replace(/^[^0-9.-]*/, (sign) => (sign.includes("▼") ? "-" : "")));
}

function sortRows(rows, { key, down }) {
  const compare = (one, other) => {
    const [a, b] = [numberOf(one[key]), numberOf(other[key])];
    const order = Number.isNaN(a) || Number.isNaN(b) ? String(one[key]).localeCompare(String(other[key])) : a - b;
    return down ? -order : order;
  };
  return [...rows].sort(compare);
}

/** Return a text as other programs read it: numbers without grouping and with a plain minus sign. */
function plainText(text, number) {
  const plain = String(text === undefined || text === null || text === "–" ? "" : text).replaceAll("−", "-").replace(/^[▲▼]+ ?/, "");
  return number ? plain.replaceAll(",", "").replace(/^\+/, "") : plain;
}

/** Copy a text, in pages without a clipboard by selecting it; return whether it was copied. */
async function copyText(text, from) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = h("textarea", { class: "tk-hidden", "aria-label": "CSV" });
    field.value = text;
    from.after(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    from.focus();
    return done;
  }
}
