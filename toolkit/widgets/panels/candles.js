function render({ model, el }) {
  let resized = null;
  const stop = renderPanel(model, el, (view) => `${view.symbol || ""} · ${view.interval || ""}`, (body, id, { note, root }) => {
    const canvas = h("canvas", { class: "tk-chart", tabindex: "0", role: "img" });
    const readout = h("p", { class: "tk-readout", "aria-live": "off" });
    body.append(readout, canvas);
    let view = {};
    let picked = null;
    const pickAt = (event) => {
      const list = view.rows || [];
      const box = canvas.getBoundingClientRect();
      const index = Math.floor(((event.clientX - box.left) / (box.width - AXIS)) * list.length);
      picked = index >= 0 && index < list.length ? index : null;
      redraw();
    };
    canvas.addEventListener("pointermove", pickAt);
    canvas.addEventListener("pointerleave", () => ((picked = null), redraw()));
    canvas.addEventListener("blur", () => ((picked = null), redraw()));
    canvas.addEventListener("keydown", (event) => {
      const last = (view.rows || []).length - 1;
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step && last >= 0) {
        event.preventDefault();
        event.stopPropagation();
        picked = Math.min(last, Math.max(0, (picked === null ? last + 1 : picked) + step));
        redraw();
      }
    });
    const redraw = () => {
      const list = view.rows || [];
      const one = picked === null ? list[list.length - 1] : list[picked];
      const places = view.places || 0;
      const text = (value) => priceText(value, places);
      setText(readout, one ? `${clock(one[0], true)} O ${text(one[1])}  H ${text(one[2])}  L ${text(one[3])}  C ${text(one[4])}  V ${one[5]}` : "No candles yet.");
      canvas.setAttribute("aria-label", `${list.length} candles of ${view.symbol}; last close ${view.last}, ${view.change} in the window. Use the arrow keys to read single candles.`);
      chart(canvas, list, picked, places, getComputedStyle(root));
    };
    resized = new ResizeObserver(() => redraw());
    resized.observe(canvas);
    return (current) => {
      view = current;
      setSignedText(note, `${view.last || ""} ${view.change || ""}`);
      const kind = direction(view.change);
      toggleClass(note, "tk-up", kind === "up");
      toggleClass(note, "tk-down", kind === "down");
      redraw();
    };
  });
  return () => {
    if (resized) resized.disconnect();
    stop();
  };
}

const AXIS = 64;
const FOOT = 18;

function priceText(value, places) {
  return value.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
}

function clock(seconds, full) {
  const time = new Date(seconds * 1000).toISOString();
  return full ? `${time.slice(5, 10)} ${time.slice(11, 16)}` : time.slice(11, 16);
}

/** Draw candles (up hollow, down filled, so that they differ without colour), volume, axis and the picked candle. */
function chart(canvas, list, picked, places, style) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (!width || !height) return;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  if (!list.length) return;
  const color = (name) => style.getPropertyValue(name).trim();
  const text = color("--tk-soft");
  const plot = { width: width - AXIS, height: (height - FOOT) * 0.8 };
  const low = Math.min(...list.map((one) => one[3]));
  const high = Math.max(...list.map((one) => one[2]));
  const margin = (high - low || Math.abs(high) * 0.001 || 1) * 0.06;
  const y = (price) => plot.height * (1 - (price - low + margin) / (high - low + 2 * margin));
  const maxVolume = Math.max(...list.map((one) => one[5])) || 1;
  const step = plot.width / list.length;
  const body = Math.max(1, Math.min(12, step * 0.68));
  pen.font = "11px " + (color("--tk-mono") || "monospace");
  pen.lineWidth = 1;
  for (const price of ticks(low - margin, high + margin, Math.max(2, Math.floor(plot.height / 34)))) {
    pen.strokeStyle = color("--tk-line");
    line(pen, 0, y(price), plot.width, y(price));
    pen.fillStyle = text;
    pen.fillText(priceText(price, places), plot.width + 6, y(price) + 4);
  }
  const every = Math.max(1, Math.ceil(list.length / Math.max(1, Math.floor(plot.width / 76))));
  list.forEach((one, index) => {
    const x = (index + 0.5) * step;
    const rise = one[4] >= one[1];
    const ink = color(rise ? "--tk-up" : "--tk-down");
    pen.globalAlpha = 0.28;
    pen.fillStyle = ink;
    const barHeight = ((height - FOOT) * 0.17 * one[5]) / maxVolume;
    pen.fillRect(x - body / 2, height - FOOT - barHeight, body, barHeight);
    pen.globalAlpha = 1;
    pen.strokeStyle = ink;
    const [top, bottom] = [y(Math.max(one[1], one[4])), y(Math.min(one[1], one[4]))];
    line(pen, x, y(one[2]), x, top);
    line(pen, x, bottom, x, y(one[3]));
    if (rise && body > 2) pen.strokeRect(x - body / 2 + 0.5, top, body - 1, Math.max(1, bottom - top));
    else pen.fillRect(x - body / 2, top, body, Math.max(1, bottom - top));
    if (index % every === Math.floor(every / 2)) {
      pen.fillStyle = text;
      pen.textAlign = "center";
      pen.fillText(clock(one[0]), x, height - 4);
      pen.textAlign = "left";
    }
  });
  const last = list[list.length - 1];
  const ink = color(last[4] >= last[1] ? "--tk-up" : "--tk-down");
  pen.setLineDash([3, 3]);
  pen.strokeStyle = ink;
  line(pen, 0, y(last[4]), plot.width, y(last[4]));
  pen.setLineDash([]);
  pen.fillStyle = ink;
  pen.fillRect(plot.width, y(last[4]) - 8, AXIS, 16);
  pen.fillStyle = color("--tk-back");
  pen.fillText(priceText(last[4], places), plot.width + 6, y(last[4]) + 4);
  if (picked !== null && list[picked]) {
    pen.strokeStyle = color("--tk-text");
    pen.globalAlpha = 0.5;
    line(pen, (picked + 0.5) * step, 0, (picked + 0.5) * step, height - FOOT);
    pen.globalAlpha = 1;
  }
}

function line(pen, x, y, toX, toY) {
  pen.beginPath();
  pen.moveTo(Math.round(x) + 0.5, Math.round(y) + 0.5);
  pen.lineTo(Math.round(toX) + 0.5, Math.round(toY) + 0.5);
  pen.stroke();
}

/** Return about `count` round numbers between low and high. */
function ticks(low, high, count) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= raw) || raw;
  const values = [];
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) values.push(value);
  return values;
}
export default { render };
