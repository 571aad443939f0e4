const WIDE = 1000;
const HIGH = 300;

/** The cumulative quantity on each side of the book, as steps away from the middle. */
function render({ model, el }) {
  return renderPanel(model, el, (view) => `${view.symbol || ""} depth`, (body, id, { note }) => {
    const name = "http://www.w3.org/2000/svg";
    const make = (tag, attributes) => {
      const element = document.createElementNS(name, tag);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      return element;
    };
    const picture = make("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", class: "tk-depth", role: "img" });
    const sides = { bids: make("path", { class: "tk-up" }), asks: make("path", { class: "tk-down" }) };
    picture.append(sides.bids, sides.asks);
    const foot = h("div", { class: "tk-depth-foot tk-note" }, h("span"), h("span"), h("span"));
    const scale = h("div", { class: "tk-depth-scale tk-note" }, h("span"), h("span"));
    const words = h("p", { class: "tk-note" });
    body.append(h("div", { class: "tk-depth-box" }, picture, scale), foot, words);
    return (view) => {
      const most = view.most || 1;
      const x = (at) => (WIDE * at).toFixed(1);
      const y = (total) => (HIGH * (1 - (0.95 * total) / most)).toFixed(1);
      for (const [side, path] of Object.entries(sides)) {
        const points = view[side] || [];
        let way = "";
        let before = null;
        for (const [at, total] of points) {
          way += before === null ? `M${x(at)},${HIGH}` : `L${x(at)},${y(before)}`;
          way += `L${x(at)},${y(total)}`;
          before = total;
        }
        if (points.length) way += `L${x(side === "bids" ? 0 : 1)},${y(before)}L${x(side === "bids" ? 0 : 1)},${HIGH}Z`;
        setAttribute(path, "d", way);
      }
      setText(note, view.mid ? `mid ${view.mid}` : "");
      (view.edges || []).forEach((text, index) => setText(foot.children[index], text));
      (view.scale || []).forEach((text, index) => setText(scale.children[index], text));
      setText(words, view.words);
      picture.setAttribute("aria-label", view.words || "No depth yet.");
    };
  });
}
export default { render };
