// The charts: made when they come into sight, with one zoom and one cursor for all.

const report = JSON.parse(document.getElementById("data").textContent);
const view = { range: null, step: null, smooth: 0.03, raw: true, log: false };
const charts = new Map(); // figure's id -> { figure, panel, chart, seen, stale }
let colours = coloursNow();

function wholeRange() {
  const [low, high] = report.domain;
  return low === high ? [low - 1, high + 1] : [low, high];
}

/** Steps and values of every drawn line of a panel on one axis, and how each is drawn. */
function linesOf(panel) {
  const tables = [], series = [{}];
  panel.curves.forEach((curve, place) => {
    const colour = colours.curves[place % colours.curves.length];
    const soft = smoothed(curve, view.smooth), points = curve.x.length <= 60;
    if (view.raw || !soft) {
      tables.push([curve.x, curve.y]);
      series.push({ stroke: colour, width: soft ? 1 : 1.5, alpha: soft ? 0.4 : 1, spanGaps: true, points: { show: points, size: 4, fill: colour, stroke: colour } });
    }
    if (soft) {
      tables.push(soft);
      series.push({ stroke: colour, width: 2, spanGaps: true, points: { show: false } });
    }
  });
  return { data: tables.length ? uPlot.join(tables) : [[], []], series: tables.length ? series : [{}, {}] };
}

const LINEAR_PART = 1e-4; // of the largest value: below it a logarithmic scale with zero or both signs is linear

/** The scale of values: logarithmic where all are positive, else linear around zero and logarithmic beyond. */
function valueScale(panel) {
  if (!view.log) return { range: (chart, low, high) => roomAround(low, high) };
  let largest = 0, positive = true;
  for (const curve of panel.curves) {
    for (const value of curve.y) {
      largest = Math.max(largest, Math.abs(value));
      positive = positive && value > 0;
    }
  }
  if (positive) return { distr: 3 };
  return { distr: 4, asinh: largest * LINEAR_PART || 1, range: (chart, low, high) => (low < high ? [low, high] : [low - 1, high + 1]) };
}

/** Zero and the decades of a scale of both signs, from its linear part on. */
function decades(scale, low, high) {
  const ticks = low <= 0 && high >= 0 ? [0] : [];
  const largest = Math.max(Math.abs(low), Math.abs(high));
  for (let exponent = Math.ceil(Math.log10(scale.asinh)) + 1; 10 ** exponent <= largest; exponent++) {
    for (const tick of [10 ** exponent, -(10 ** exponent)]) if (tick >= low && tick <= high) ticks.push(tick);
  }
  if (ticks.length < 2) ticks.push(...[low, high].map((end) => Number(end.toPrecision(3))));
  return ticks.sort((one, other) => one - other);
}

function roomAround(low, high) {
  if (low === null || high === null) return [0, 1];
  const room = (high - low) * 0.08 || Math.abs(high) * 0.1 || 1;
  return [low >= 0 && low - room < 0 ? 0 : low - room, high + room];
}

function optionsOf(entry, series) {
  const { panel, plot } = entry, values = valueScale(panel);
  const axis = { stroke: colours.muted, font: `11px ${colours.font}`, grid: { stroke: colours.grid, width: 1 }, ticks: { show: false } };
  return {
    width: Math.max(plot.clientWidth, 120), height: plot.clientHeight, series,
    scales: { x: { time: false, range: () => view.range || wholeRange() }, y: values },
    axes: [
      { ...axis, size: 24, gap: 4, space: 60, values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? tickNumber(tick, "") : "")) },
      { ...axis, size: 48, gap: 4, space: 28, ...(values.distr === 4 && { splits: (chart, _, low, high) => decades(values, low, high), filter: (_, ticks) => ticks }), values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : tickNumber(tick, panel.unit))) },
    ],
    legend: { show: false }, padding: [6, 14, 0, 0],
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false }, bind: { dblclick: () => () => { zoom(null); return null; } } },
    hooks: {
      drawAxes: [(chart) => drawUnder(chart, panel, report.findings, colours)],
      draw: [(chart) => drawOver(chart, panel, report.findings, report.marks, colours)],
      setSelect: [(chart) => selected(chart)],
      setCursor: [(chart) => { if (!entry.quiet && chart.cursor.left >= 0) point(chart.posToVal(chart.cursor.left, "x"), entry); }],
    },
  };
}

function selected(chart) {
  if (chart.select.width < 4) return;
  const low = chart.posToVal(chart.select.left, "x"), high = chart.posToVal(chart.select.left + chart.select.width, "x");
  chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  zoom([low, high]);
}

/** Makes a panel's chart, in place of its still picture. */
function make(entry) {
  if (entry.chart) entry.chart.destroy();
  const { data, series } = linesOf(entry.panel);
  entry.chart = new uPlot(optionsOf(entry, series), data, entry.plot);
  entry.plot.classList.add("made");
  entry.stale = false;
  read(entry);
}

/** Shows every chart in sight anew; the others when they come into sight. */
function remake() {
  for (const entry of charts.values()) {
    entry.stale = true;
    if (entry.seen) make(entry);
  }
}

/** One zoom for all: a range of steps, or null for the whole run. */
function zoom(range) {
  if (range) {
    const [low, high] = wholeRange(), least = Math.min(2, high - low);
    const width = Math.max(range[1] - range[0], least), middle = (range[0] + range[1]) / 2;
    const from = Math.min(Math.max(middle - width / 2, low), high - width);
    range = width >= high - low ? null : [from, from + width];
  }
  view.range = range;
  for (const entry of charts.values()) {
    if (entry.chart && entry.seen && !entry.stale) rescale(entry);
    else entry.stale = true;
  }
  document.documentElement.classList.toggle("zoomed", range !== null);
  tellWhere();
}

function rescale(entry) {
  const [low, high] = view.range || wholeRange();
  entry.chart.setScale("x", { min: low, max: high });
}

/** One cursor for all: a step, or null for none. */
function point(step, from) {
  view.step = step === null ? null : Math.round(step);
  for (const entry of charts.values()) {
    if (!entry.chart || !entry.seen) continue;
    if (entry !== from) {
      entry.quiet = true;
      entry.chart.setCursor(step === null ? { left: -10, top: -10 } : { left: entry.chart.valToPos(step, "x"), top: 0 });
      entry.quiet = false;
    }
    read(entry);
  }
  tellWhere();
}

/** Writes the values at the cursor, or the last ones, beside the panel's name. */
function read(entry) {
  const told = entry.panel.curves.map((curve) => {
    if (view.step !== null && curve.mx.length) { // a point is an extreme of its bucket: its mean says more
      return `mean ${quantity(curve.my[nearest(curve.mx, view.step)], entry.panel.unit)}`;
    }
    const place = view.step === null ? curve.x.length - 1 : nearest(curve.x, view.step);
    return place < 0 ? "–" : quantity(curve.y[place], entry.panel.unit);
  });
  entry.output.textContent = told.join(" · ");
}

function tellWhere() {
  const range = view.range ? `steps ${Math.ceil(view.range[0])} to ${Math.floor(view.range[1])}` : "";
  const step = view.step === null ? "" : `step ${view.step.toLocaleString("en-US")}`;
  const output = document.getElementById("where");
  if (output) output.textContent = [step, range].filter(Boolean).join(", ");
}

/** The zoom that shows one finding: its interval and detection, with as much room on either side. */
function around(finding) {
  const [low, high] = wholeRange();
  const first = Math.min(finding.interval[0], finding.onset), last = Math.max(finding.detected, finding.interval[1]);
  const room = Math.max(last - first, (high - low) / 20, 10);
  return [first - room, last + room];
}

function keyed(event, entry) {
  const steps = entry.panel.curves[0].x, [low, high] = view.range || wholeRange(), middle = view.step ?? (low + high) / 2;
  const move = (by) => {
    const place = view.step === null ? steps.length - 1 : nearest(steps, view.step);
    const step = steps[Math.min(Math.max(place + by, 0), steps.length - 1)];
    if (step < low || step > high) zoom([step - (high - low) / 2, step + (high - low) / 2]);
    point(step, null);
  };
  const by = event.shiftKey ? 10 : 1;
  const actions = {
    ArrowLeft: () => move(-by), ArrowRight: () => move(by), Home: () => move(-steps.length), End: () => move(steps.length),
    "+": () => zoom([middle - (high - low) / 4, middle + (high - low) / 4]), "=": () => actions["+"](),
    "-": () => zoom([middle - (high - low), middle + (high - low)]), 0: () => zoom(null), Escape: () => point(null, null),
  };
  const action = actions[event.key];
  if (!action || event.ctrlKey || event.metaKey || event.altKey || !steps.length) return;
  event.preventDefault();
  action();
}

function startCharts() {
  const sight = new IntersectionObserver((changes) => {
    for (const change of changes) {
      const entry = charts.get(change.target.id);
      entry.seen = change.isIntersecting;
      if (entry.seen && (!entry.chart || entry.stale)) make(entry);
    }
  }, { rootMargin: "200px 0px" });
  const sized = new ResizeObserver((changes) => {
    for (const change of changes) {
      const entry = charts.get(change.target.parentElement.id), width = entry.plot.clientWidth;
      if (entry.chart && width > 0 && width !== entry.chart.width) entry.chart.setSize({ width, height: entry.plot.clientHeight });
    }
  });
  for (const figure of document.querySelectorAll("figure.panel")) {
    const plot = figure.querySelector(".plot");
    const entry = { figure, plot, panel: report.panels[figure.id], output: figure.querySelector("output"), chart: null, seen: false, stale: true, quiet: false };
    charts.set(figure.id, entry);
    plot.addEventListener("keydown", (event) => keyed(event, entry));
    plot.addEventListener("mouseleave", () => point(null, null));
    read(entry);
    sight.observe(figure);
    sized.observe(plot);
  }
}
