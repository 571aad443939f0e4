function render({ model, el }) {
  return renderPanel(model, el, () => "Leaderboard", (body, id, { note }) => {
    const num = (key, name) => ({ key, name, num: true });
    const table = dataTable("Students by return", [
      num("rank", "Rank"), { key: "name", name: "Name" }, num("equity", "Equity USDC"), { ...num("return", "Return"), signed: true },
      num("drawdown", "Drawdown"), num("fees", "Fees USDC"), num("trades", "Trades"),
      num("market", "Market USDC"), num("classmates", "Classmates USDC"), num("left_out", "Left out USDC"),
    ], { empty: "No students." });
    const heading = h("h4", {}, "News");
    const list = h("ul", { class: "tk-news" });
    body.append(table.part, heading, list);
    return (view) => {
      setText(note, view.time);
      table.draw(view.rows || [], view.loaded);
      const news = view.news || [];
      setVisible(heading, news.length);
      setVisible(list, news.length);
      const items = fitRows(list, news.length, () => h("li", {}));
      news.forEach(([time, text], index) => setText(items[index], `${time} ${text}`));
    };
  });
}
export default { render };
