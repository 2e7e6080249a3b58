// What lies over and under the curves of a chart: usual band, onset and its interval, thresholds, marks.

const LETTER = 13, MARK = 4; // CSS pixels: a letter's flag, half a mark

/** The page's colours as they are now; read anew after a change of theme. */
function coloursNow() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  const curves = [1, 2, 3, 4, 5, 6].map((place) => read(`curve-${place}`));
  const severity = {};
  for (const name of ["critical", "warning", "info"]) severity[name] = { line: read(name), fill: read(`${name}-fill`), on: read(`${name}-on`) };
  return { curves, severity, ink: read("ink"), muted: read("muted"), grid: read("grid"), line: read("line"), healthy: read("healthy"), font: getComputedStyle(document.body).fontFamily };
}

/** The plotting area in canvas pixels, and the place of a step and of a value in it. */
function placeOf(chart) {
  const { left, top, width, height } = chart.bbox;
  return {
    left, top, width, height, ratio: window.devicePixelRatio || 1,
    x: (step) => chart.valToPos(step, "x", true),
    y: (value) => chart.valToPos(value, "y", true),
    inside: (x) => x >= left - 1 && x <= left + width + 1,
  };
}

/** Runs a drawing clipped to the plotting area. */
function clipped(chart, draw) {
  const at = placeOf(chart), pen = chart.ctx;
  pen.save();
  pen.beginPath();
  pen.rect(at.left, at.top, at.width, at.height);
  pen.clip();
  draw(pen, at);
  pen.restore();
}

function upright(pen, at, x, colour, width, dash) {
  pen.beginPath();
  pen.strokeStyle = colour;
  pen.lineWidth = width * at.ratio;
  pen.setLineDash(dash.map((part) => part * at.ratio));
  pen.moveTo(x, at.top);
  pen.lineTo(x, at.top + at.height);
  pen.stroke();
  pen.setLineDash([]);
}

/** Under the curves: where the metric usually lay, and the intervals of its findings' onsets. */
function drawUnder(chart, panel, findings, colours) {
  clipped(chart, (pen, at) => {
    if (panel.usual) {
      const [[low, high], until] = panel.usual;
      const top = at.y(high), bottom = at.y(low), right = Math.min(at.x(until), at.left + at.width);
      pen.fillStyle = colours.healthy;
      pen.globalAlpha = 0.1;
      pen.fillRect(at.left, top, right - at.left, Math.max(bottom - top, at.ratio));
      pen.globalAlpha = 0.05;
      pen.fillRect(right, top, at.left + at.width - right, Math.max(bottom - top, at.ratio));
    }
    for (const place of panel.leading) {
      const one = findings[place], left = at.x(one.interval[0]), right = at.x(one.interval[1]);
      pen.fillStyle = colours.severity[one.severity].line;
      pen.globalAlpha = 0.12;
      if (right > left) pen.fillRect(left, at.top, right - left, at.height);
    }
  });
}

/** Over the curves: thresholds, onsets with their letters, detection, recovery, and what happened to the run. */
function drawOver(chart, panel, findings, marks, colours) {
  clipped(chart, (pen, at) => {
    drawLimits(pen, at, panel, colours);
    for (const step of marks.resume) upright(pen, at, at.x(step), colours.muted, 1, [2, 3]);
    for (const [step] of marks.end) upright(pen, at, at.x(step), colours.severity.critical.line, 1, [2, 3]);
    findings.forEach((one, place) => {
      if (one.root && one.severity !== "info" && !panel.findings.includes(place)) {
        pen.globalAlpha = 0.35;
        upright(pen, at, at.x(one.onset), colours.severity[one.severity].line, 1, [1, 4]);
        pen.globalAlpha = 1;
      }
    });
    for (const place of [...panel.findings].reverse()) {
      const one = findings[place], colour = colours.severity[one.severity].line, leads = panel.leading.includes(place);
      upright(pen, at, at.x(one.onset), colour, leads ? 1.8 : 1, []);
      if (!leads) continue;
      if (one.detected !== one.onset) upright(pen, at, at.x(one.detected), colour, 1, [3, 3]);
      if (one.recovered !== null) upright(pen, at, at.x(one.recovered), colours.healthy, 1, [6, 3]);
    }
    drawMarks(pen, at, panel, marks, colours);
    drawLetters(pen, at, panel, findings, colours);
  });
}

function drawLimits(pen, at, panel, colours) {
  pen.font = `${10 * at.ratio}px ${colours.font}`;
  pen.textAlign = "right";
  pen.textBaseline = "bottom";
  for (const [value, name] of panel.limits) {
    const y = at.y(value);
    if (!(y >= at.top && y <= at.top + at.height)) continue;
    pen.strokeStyle = colours.ink;
    pen.fillStyle = colours.ink;
    pen.globalAlpha = 0.55;
    pen.lineWidth = at.ratio;
    pen.setLineDash([5 * at.ratio, 4 * at.ratio]);
    pen.beginPath();
    pen.moveTo(at.left, y);
    pen.lineTo(at.left + at.width, y);
    pen.stroke();
    pen.setLineDash([]);
    pen.globalAlpha = 0.8;
    pen.fillText(`${name} ${plainNumber(value)}`, at.left + at.width - 3 * at.ratio, y - at.ratio);
    pen.globalAlpha = 1;
  }
}

/** Letters of onsets in the top corner; two that would cover each other stand side by side. */
function drawLetters(pen, at, panel, findings, colours) {
  const size = LETTER * at.ratio;
  let free = -Infinity;
  pen.font = `700 ${9.5 * at.ratio}px ${colours.font}`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  const shown = panel.findings.map((place) => findings[place]).sort((one, other) => one.onset - other.onset);
  for (const one of shown) {
    const onset = at.x(one.onset);
    if (!at.inside(onset)) continue;
    const x = Math.min(Math.max(onset, free, at.left), at.left + at.width - size);
    pen.fillStyle = colours.severity[one.severity].fill;
    pen.fillRect(x, at.top, size, size);
    pen.fillStyle = colours.severity[one.severity].on;
    pen.fillText(one.letter, x + size / 2, at.top + size / 2 + 0.5 * at.ratio);
    free = x + size + at.ratio;
  }
}

/** At the bottom: a triangle a checkpoint, a diamond an evaluation, a cross where a value was not finite. */
function drawMarks(pen, at, panel, marks, colours) {
  const base = at.top + at.height - 1 * at.ratio, size = MARK * at.ratio;
  const shape = (step, points, colour) => {
    const x = at.x(step);
    if (!at.inside(x)) return;
    pen.beginPath();
    points.forEach(([dx, dy], place) => pen[place ? "lineTo" : "moveTo"](x + dx * size, base + dy * size));
    pen.closePath();
    pen.fillStyle = colour;
    pen.fill();
  };
  for (const step of marks.checkpoint) shape(step, [[0, -1.6], [-1, 0], [1, 0]], colours.muted);
  for (const step of marks.evaluation) shape(step, [[0, -2], [-1, -1], [0, 0], [1, -1]], colours.curves[3]);
  pen.strokeStyle = colours.severity.critical.line;
  pen.lineWidth = 1.6 * at.ratio;
  for (const curve of panel.curves) {
    for (const step of curve.bad) {
      const x = at.x(step), y = base - 1.2 * size;
      if (!at.inside(x)) continue;
      pen.beginPath();
      pen.moveTo(x - size, y - size); pen.lineTo(x + size, y + size);
      pen.moveTo(x + size, y - size); pen.lineTo(x - size, y + size);
      pen.stroke();
    }
  }
}
