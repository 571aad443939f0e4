const GRAB_PIXELS = 6;
const REDRAW_MS = 250;
const ATTACH_MS = 50;
const EDGE_BARS = 20;
const EDGE_LINES = 3;
const LABEL_PIXELS = 16;
const BAR_PIXELS = 6;
const RIGHT_BARS = 14;
const TABLE_ROWS = 60;
const OFFERED = ["SMA 20", "SMA 50", "EMA 20", "EMA 50", "RSI 14", "ATR 14"];
const BELOW = ["StdDev", "ATR", "RSI"];

function render({ model, el }) {
  const ends = [];
  const stop = renderPanel(model, el, (view) => `${view.symbol || ""} · ${view.interval || ""}`, (body, id, { note, root }) => {
    root.classList.add("tk-candles");
    const colors = themeColors(root);
    const bar = h("div", { class: "tk-tools" });
    const readout = h("p", { class: "tk-readout", "aria-live": "off" });
    const host = h("div", { class: "tk-chart", tabindex: "0", role: "group" });
    const details = h("details", { class: "tk-more", on: { toggle: () => drawTable() } }, h("summary", {}, "Candles as a table"));
    const numbers = ["Open", "High", "Low", "Close", "Volume"].map((name) => ({ name, num: true }));
    const { table, draw: drawRows } = makeTable("Latest candles, newest first", [{ name: "Time (UTC)", head: true }, ...numbers]);
    details.append(h("div", { class: "tk-scroll", tabindex: "0", role: "region", "aria-label": "Candles" }, table));
    const edges = h("div", { class: "tk-edges" }, h("p"), h("p"));
    const main = h("div", {}, bar, readout, h("div", { class: "tk-frame" }, host, edges), details);
    const review = reviewPart(model, id, root, () => host.focus(), () => (host.focus(), true));
    body.append(review.element, main);

    const drawing = makeChart(host, edges, colors, model, () => !body.disabled && !model.get("lock") && !model.get("view").readOnly);
    ends.push(drawing.stop, colors.watch(() => drawing.paint()));
    const intervals = switchGroup("Length of a candle", (name) => setTrait(model, "interval", name));
    const studies = switchGroup("Indicators", (name) => {
      const chosen = model.get("indicators") || [];
      setTrait(model, "indicators", chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name]);
    });
    const zoom = switchGroup("View").group;
    for (const [text, name, call] of [["−", "Zoom out", () => drawing.zoom(1.5)], ["+", "Zoom in", () => drawing.zoom(1 / 1.5)], ["⇥", "Latest candle", () => drawing.latest()], ["Full", "Full screen", () => (document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen())]]) {
      zoom.append(smallButton(text, call, { "aria-label": name, title: name }));
    }
    // A click on the chart begins the review of an order, or of an exit of the position, at its price.
    const quantity = h("input", { type: "text", inputmode: "decimal", autocomplete: "off", placeholder: "quantity", "aria-label": "Quantity of the order" });
    const placing = switchGroup("Place by a click on the chart", (name) => arm(name === armed ? "" : name));
    let armed = "";
    const arm = (name) => {
      armed = name;
      placing.draw(["Order", "TP / SL"], [armed]);
      setVisible(quantity, armed === "Order");
      if (armed === "Order") quantity.focus();
      drawing.onPick(armed && ((price) => {
        sendPress(model, armed === "Order" ? { do: "place", price, quantity: quantity.value } : { do: "exit", price });
        arm("");
      }));
    };
    arm("");
    main.addEventListener("keydown", (event) => event.key === "Escape" && arm(""));
    bar.append(intervals.group, studies.group, zoom, placing.group, quantity);
    let picked = null;
    host.addEventListener("keydown", (event) => {
      const last = drawing.rows().length - 1;
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      const other = { "+": () => drawing.zoom(1 / 1.5), "-": () => drawing.zoom(1.5), End: () => drawing.latest() }[event.key];
      if ((!step && !other) || last < 0) return;
      event.preventDefault();
      if (other) return other();
      picked = Math.min(last, Math.max(0, (picked === null ? last + 1 : picked) + step));
      setAttribute(readout, "aria-live", "polite");
      drawing.point(picked);
      drawReadout();
    });
    host.addEventListener("blur", () => {
      picked = null;
      setAttribute(readout, "aria-live", "off");
      drawing.point(null);
    });
    const drawReadout = () => {
      const rows = drawing.rows();
      const one = rows[picked === null ? drawing.hovered() : picked] || rows[rows.length - 1];
      const places = model.get("view").places || 0;
      const text = (value) => priceText(value, places);
      const fills = (model.get("view").fills || []).filter((fill) => one && fill[0] === one[0]);
      const did = fills.length > 1 ? `  ${fills.length} fills` : fills.length ? `  ${fills[0][3]}` : "";
      setText(readout, one ? `${clock(one[0])}  O ${text(one[1])}  H ${text(one[2])}  L ${text(one[3])}  C ${text(one[4])}  V ${one[5] ?? "unknown"}${did}` : "No candles yet.");
    };
    drawing.onHover(drawReadout);
    const drawTable = () => {
      if (!details.open) return;
      const places = model.get("view").places || 0;
      const shown = drawing.rows().slice(-TABLE_ROWS).reverse();
      drawRows(shown.map(([time, open, high, low, close, volume]) => [clock(time), ...[open, high, low, close].map((price) => priceText(price, places)), volume ?? "unknown"]));
    };
    let lastDrawn = -REDRAW_MS;
    let later = 0;
    const drawPanel = (view, lock) => {
      setText(note, `${view.last || ""} ${view.change || ""}${view.change ? ` in ${view.window}` : ""}`);
      colourBy(note, view.change);
      intervals.draw(view.intervals || [], [model.get("interval")]);
      const chosen = model.get("indicators") || [];
      studies.draw([...new Set([...OFFERED, ...chosen])], chosen);
      // A canvas is drawn whole: four times a second are enough to watch, and cost a third.
      clearTimeout(later);
      const due = lastDrawn + REDRAW_MS - performance.now();
      if (due > 0) later = setTimeout(() => drawChart(model.get("view") || {}), due);
      else drawChart(view);
      review.draw(view, Boolean(lock) || Boolean(view.readOnly));
      toggleClass(main, "tk-behind", !review.element.hidden);
    };
    const drawChart = (view) => {
      // Notebooks attach what was rendered a moment later; before that there is no theme to take colours from.
      if (!host.isConnected) {
        later = setTimeout(() => drawChart(model.get("view") || {}), ATTACH_MS);
        return;
      }
      lastDrawn = performance.now();
      drawing.draw(view, model.get("history") || {});
      setAttribute(host, "aria-label", `${drawing.rows().length} candles of ${view.symbol}, ${view.interval} each. Last close ${view.last}, ${view.change}. Arrow keys read single candles, plus and minus zoom.`);
      drawReadout();
      drawTable();
    };
    ends.push(() => clearTimeout(later));
    return drawPanel;
  });
  return () => {
    ends.forEach((end) => end());
    stop();
  };
}

function priceText(value, places) {
  return value.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
}

function clock(seconds) {
  const time = new Date(seconds * 1000).toISOString();
  return `${time.slice(5, 10)} ${time.slice(11, 16)}`;
}

/** Make the chart in `host`. Its prices are numbers to draw; what is sent to Python is rounded to ticks there. */
function makeChart(host, edges, colors, model, mayMove) {
  const library = window.LightweightCharts;
  const inside = h("div", { style: "position:absolute;inset:0" });
  // In a shadow tree: notebooks restyle every table of their page, and the library draws in one.
  host.attachShadow({ mode: "closed" }).append(inside);
  const chart = library.createChart(inside, {
    autoSize: true,
    layout: { background: { color: "transparent" }, attributionLogo: true, fontSize: 11 },
    timeScale: { timeVisible: true, secondsVisible: false, rightOffset: RIGHT_BARS, minBarSpacing: 0.5 },
    crosshair: { mode: library.CrosshairMode.Normal },
    localization: { locale: "en-GB" },
    rightPriceScale: { entireTextOnly: true, scaleMargins: { top: 0.08, bottom: 0.22 } },
  });
  const candles = chart.addSeries(library.CandlestickSeries, { priceLineStyle: 1 });
  const volume = chart.addSeries(library.HistogramSeries, { priceScaleId: "volume", priceFormat: { type: "volume" }, lastValueVisible: false, priceLineVisible: false });
  volume.priceScale().applyOptions({ scaleMargins: { top: 0.84, bottom: 0 } });
  const plain = { lineWidth: 1, priceLineVisible: false, crosshairMarkerVisible: false };
  const followers = { mark: chart.addSeries(library.LineSeries, { ...plain, title: "mark", lineStyle: 0 }), index: chart.addSeries(library.LineSeries, { ...plain, title: "index", lineStyle: 1 }) };
  const marks = library.createSeriesMarkers(candles, []);
  const state = { rows: [], shades: null, studies: new Map(), lines: new Map(), history: null, hovered: null, hover: () => {}, askedAt: -PRESS_MS, fills: "", view: {}, drag: null, pick: null };

  const bars = (row) => ({ time: row[0], open: row[1], high: row[2], low: row[3], close: row[4] });
  const volumes = (row) => ({ time: row[0], value: row[5] ?? 0, color: colors.fade(row[4] >= row[1] ? state.shades.up : state.shades.down, 0.3) });
  const study = (text) => {
    const place = BELOW.some((name) => text.startsWith(name)) ? 1 + [...state.studies.keys()].filter((one) => BELOW.some((name) => one.startsWith(name))).length : 0;
    const series = chart.addSeries(library.LineSeries, { ...plain, title: place > 0 ? text : "", lastValueVisible: place > 0 }, place);
    state.studies.set(text, series);
    return series;
  };
  const points = (rows, values) => rows.map((row, index) => (typeof values[index] === "number" ? { time: row[0], value: values[index] } : { time: row[0] }));

  const paint = () => {
    if (!host.isConnected) return;
    const shades = (state.shades = colors.read());
    chart.applyOptions({
      layout: { textColor: shades.soft, fontFamily: colors.font(), panes: { separatorColor: shades.line } },
      grid: { vertLines: { color: colors.fade(shades.line, 0.5) }, horzLines: { color: colors.fade(shades.line, 0.5) } },
      timeScale: { borderColor: shades.line },
      rightPriceScale: { borderColor: shades.line },
    });
    // Up is hollow and down is filled, so that they differ without colour.
    candles.applyOptions({ upColor: shades.back, borderUpColor: shades.up, wickUpColor: shades.up, downColor: shades.down, borderDownColor: shades.down, wickDownColor: shades.down });
    followers.mark.applyOptions({ color: shades.text });
    followers.index.applyOptions({ color: shades.soft });
    const inks = [shades.focus, shades.bad, shades.text, shades.soft, shades.up, shades.down];
    [...state.studies.values()].forEach((series, index) => series.applyOptions({ color: inks[index % inks.length] }));
    volume.setData(state.rows.map(volumes));
    for (const line of state.lines.values()) line.key = "";
    state.fills = "";
    host.dataset.ink = shades.up;
    if (state.view.lines) drawAccount(state.view);
  };

  /** Show the latest candles, as soon as the chart has a width; until then it would squeeze all of them into nothing. */
  const place = () => {
    if (state.placed || !state.rows.length || chart.timeScale().width() < 50) return;
    chart.timeScale().applyOptions({ barSpacing: BAR_PIXELS });
    chart.timeScale().scrollToPosition(RIGHT_BARS, false);
    state.placed = true;
  };

  const drawHistory = (view, history) => {
    const wanted = Object.keys(history.studies || {});
    const last = history.rows.length ? history.rows[history.rows.length - 1][0] : -1;
    const recent = (view.rows || []).filter((row) => row[0] > last);
    const before = state.rows.length ? state.rows[0][0] : null;
    const same = state.history && state.history.interval === history.interval;
    const range = same && state.placed ? chart.timeScale().getVisibleLogicalRange() : null;
    state.rows = [...history.rows, ...recent];
    candles.setData(state.rows.map(bars));
    volume.setData(state.rows.map(volumes));
    for (const [text, series] of state.studies) {
      if (!wanted.includes(text)) {
        chart.removeSeries(series);
        state.studies.delete(text);
      }
    }
    const whole = (group, name) => [...(history[group][name] || []), ...((view[group] || {})[name] || []).slice(-recent.length || Infinity)];
    for (const text of wanted) (state.studies.get(text) || study(text)).setData(points(state.rows, whole("studies", text)));
    // Prices are known here and there only: a line needs no empty places between them.
    for (const [name, series] of Object.entries(followers)) series.setData(points(state.rows, whole("prices", name)).filter((one) => "value" in one));
    if (!same) state.placed = false;
    place();
    // Earlier candles shift the numbers of the others; what is shown stays where it is.
    const added = range ? state.rows.findIndex((row) => row[0] === before) : 0;
    if (added > 0) chart.timeScale().setVisibleLogicalRange({ from: range.from + added, to: range.to + added });
    state.history = history;
    state.askedAt = -PRESS_MS;
    paint();
  };

  const drawRecent = (view) => {
    const newest = state.rows.length ? state.rows[state.rows.length - 1][0] : -1;
    (view.rows || []).forEach((row, index) => {
      if (row[0] < newest) return;
      if (state.rows.length && row[0] === state.rows[state.rows.length - 1][0]) state.rows[state.rows.length - 1] = row;
      else state.rows.push(row);
      candles.update(bars(row));
      volume.update(volumes(row));
      for (const [text, series] of state.studies) {
        const value = ((view.studies || {})[text] || [])[index];
        series.update(typeof value === "number" ? { time: row[0], value } : { time: row[0] });
      }
      for (const [name, series] of Object.entries(followers)) {
        const value = ((view.prices || {})[name] || [])[index];
        if (typeof value === "number") series.update({ time: row[0], value });
      }
    });
  };

  const inkOf = (one) => ({ liquidation: state.shades.bad, entry: state.shades.text }[one.kind] || (one.up ? state.shades.up : state.shades.down));
  const drawAccount = (view) => {
    const known = new Set(state.lines.keys());
    for (const one of view.lines || []) {
      known.delete(one.id);
      const held = state.drag && state.drag.id === one.id ? state.drag.price : one.price;
      const key = JSON.stringify([one, held]);
      const line = state.lines.get(one.id) || { made: candles.createPriceLine({ price: held }) };
      state.lines.set(one.id, line);
      line.one = one;
      if (line.key === key) continue;
      line.key = key;
      line.made.applyOptions({ price: held, color: inkOf(one), lineWidth: 1, lineStyle: one.kind === "entry" ? 0 : 2 });
    }
    for (const id of known) {
      candles.removePriceLine(state.lines.get(id).made);
      state.lines.delete(id);
    }
    const key = JSON.stringify(view.fills || []);
    if (key !== state.fills) {
      state.fills = key;
      marks.setMarkers((view.fills || []).filter((one) => state.rows.length && one[0] >= state.rows[0][0]).map(([time, buys, price]) => ({
        time, price, position: buys ? "belowBar" : "aboveBar", shape: buys ? "arrowUp" : "arrowDown", color: buys ? state.shades.up : state.shades.down,
      })));
    }
    // Where a line stands is known once the chart has drawn itself.
    noteLines();
    requestAnimationFrame(noteLines);
  };
  const noteLines = () => {
    const heights = JSON.stringify([...state.lines.values()].map(({ one }) => [one.id, one.kind, Math.round(candles.priceToCoordinate(one.price) || -1)]));
    if (host.dataset.lines !== heights) host.dataset.lines = heights;
    drawLabels();
    drawEdges();
  };
  /** Label the lines: the first of several orders of a kind that lie too close for labels of their own counts the others. */
  const drawLabels = () => {
    let first = null;
    const sorted = [...state.lines.values()].sort((line, other) => other.one.price - line.one.price);
    for (const line of sorted) {
      const y = candles.priceToCoordinate(line.one.price);
      const joins = first && line.one.moves && first.one.kind === line.one.kind && first.one.up === line.one.up && y - first.y < LABEL_PIXELS;
      if (joins) first.others += 1;
      else first = Object.assign(line, { y, others: 0 });
      line.joins = joins;
    }
    for (const line of sorted) {
      const title = line.joins ? "" : line.one.text + (line.others ? ` +${line.others}` : "");
      if (line.title !== title) line.made.applyOptions({ title, axisLabelVisible: !line.joins });
      line.title = title;
    }
    host.dataset.labels = JSON.stringify(sorted.map((line) => line.title).filter(Boolean));
  };
  /** Name the lines that are off the chart at the edge that they are beyond, the nearest first. */
  const drawEdges = () => {
    const [pane] = chart.panes();
    if (!pane) return; // a frame that was asked for before the chart was removed
    const height = pane.getHeight();
    const away = [...state.lines.values()].map(({ one }) => [one, candles.priceToCoordinate(one.price)]).filter(([, y]) => y !== null && (y < 0 || y > height));
    ["↑", "↓"].forEach((arrow, below) => {
      const own = away.filter(([, y]) => (y > height) === Boolean(below)).sort(([, y], [, other]) => Math.abs(y) - Math.abs(other));
      const rest = own.length > EDGE_LINES ? ` and ${own.length - EDGE_LINES} more` : "";
      const words = own.slice(0, EDGE_LINES).map(([one]) => `${arrow} ${one.text} at ${one.shown}`);
      setText(edges.children[below], words.join("   ") + rest);
    });
    edges.style.height = `${height}px`;
  };

  // Dragging a line asks Python for a replacement, which is reviewed and signed as any order.
  const at = (event) => event.clientY - host.getBoundingClientRect().top;
  const near = (event) => {
    if (!mayMove() || state.pick) return null;
    let best = null;
    for (const { one } of state.lines.values()) {
      const distance = Math.abs((candles.priceToCoordinate(one.price) ?? -99) - at(event));
      if (one.moves && distance <= GRAB_PIXELS && (!best || distance < best.distance)) best = { one, distance };
    }
    return best && best.one;
  };
  host.addEventListener("pointerdown", (event) => {
    const one = near(event);
    if (!one || event.button !== 0) return;
    state.drag = { id: one.id, price: one.price };
    chart.applyOptions({ handleScroll: false, handleScale: false });
    host.setPointerCapture(event.pointerId);
  }, true);
  host.addEventListener("pointermove", (event) => {
    if (!state.drag) {
      host.style.cursor = state.pick ? "copy" : near(event) ? "ns-resize" : "";
      return;
    }
    const price = candles.coordinateToPrice(at(event));
    if (price > 0) state.drag.price = price;
    drawAccount(state.view);
  }, true);
  const drop = (send) => {
    const drag = state.drag;
    if (!drag) return;
    state.drag = null;
    chart.applyOptions({ handleScroll: true, handleScale: true });
    const line = state.lines.get(drag.id);
    if (send && line && mayMove() && drag.price !== line.one.price) sendPress(model, { do: "move", order: drag.id, price: drag.price.toFixed(state.view.places || 0) });
    drawAccount(state.view);
  };
  host.addEventListener("pointerup", () => drop(true));
  host.addEventListener("pointercancel", () => drop(false));
  host.addEventListener("keydown", (event) => event.key === "Escape" && drop(false));

  chart.timeScale().subscribeVisibleLogicalRangeChange((range) => {
    if (!range || !state.placed || !state.history || state.history.complete || range.from > EDGE_BARS) return;
    // Asked for again after a while: an answer that failed must not end the scrolling for ever.
    if (performance.now() - state.askedAt < PRESS_MS) return;
    state.askedAt = performance.now();
    model.send({ do: "older" });
  });
  chart.timeScale().subscribeSizeChange(place);
  chart.timeScale().subscribeVisibleLogicalRangeChange(() => requestAnimationFrame(noteLines));
  chart.subscribeClick(({ point, paneIndex }) => {
    const price = point && candles.coordinateToPrice(point.y);
    if (state.pick && mayMove() && paneIndex === 0 && price > 0) state.pick(price.toFixed(state.view.places || 0));
  });
  chart.subscribeCrosshairMove((event) => {
    state.hovered = event.logical === undefined ? null : event.logical;
    state.hover();
  });
  return {
    paint,
    rows: () => state.rows,
    hovered: () => state.hovered,
    onHover: (call) => (state.hover = call),
    onPick: (call) => (state.pick = call),
    draw: (view, history) => {
      state.view = view;
      if (!state.shades) paint();
      if (state.places !== view.places) {
        state.places = view.places;
        candles.applyOptions({ priceFormat: { type: "price", precision: view.places || 0, minMove: 10 ** -(view.places || 0) } });
      }
      // Both come in messages of their own: between them they may be of different lengths of candles.
      if (!history.rows || view.interval !== history.interval) return;
      if (history !== state.history) drawHistory(view, history);
      drawRecent(view);
      place();
      drawAccount(view);
    },
    zoom: (factor) => {
      const range = chart.timeScale().getVisibleLogicalRange();
      if (!range) return;
      const width = (range.to - range.from) * factor;
      chart.timeScale().setVisibleLogicalRange({ from: range.to - width, to: range.to });
    },
    // Without an animation: the next candle would stop it half-way.
    latest: () => chart.timeScale().scrollToPosition(RIGHT_BARS, false),
    point: (index) => (index === null || !state.rows[index] ? chart.clearCrosshairPosition() : chart.setCrosshairPosition(state.rows[index][4], state.rows[index][0], candles)),
    stop: () => chart.remove(),
  };
}
export default { render };
