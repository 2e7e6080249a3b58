"use strict";
// Series: smoothing, joining curves on one axis, numbers in words. Knows nothing of charts.

/** The middle of a moving window over points that stand for equal stretches: its mean, at every point. */
function rollingMean(values, width) {
  const half = Math.floor(width / 2), out = new Array(values.length);
  let sum = 0, low = 0, high = -1;
  for (let place = 0; place < values.length; place++) {
    const first = Math.max(0, place - half), last = Math.min(values.length - 1, place + half);
    while (high < last) sum += values[++high];
    while (low < first) sum -= values[low++];
    out[place] = sum / (last - first + 1);
  }
  return out;
}

/** A curve smoothed over a fraction of its points as [steps, values]; null where a window would hold one point or means nothing. */
function smoothed(curve, fraction) {
  if (!curve.smooth) return null;
  const whole = curve.mx.length === 0;
  const steps = whole ? curve.x : curve.mx, values = whole ? curve.y : curve.my;
  const width = Math.max(3, Math.round(values.length * fraction)) | 1;
  return fraction > 0 && values.length > 2 * width ? [steps, rollingMean(values, width)] : null;
}

/** Index of the point nearest to a step; -1 in an empty curve. */
function nearest(steps, step) {
  let low = 0, high = steps.length - 1;
  if (high < 0) return -1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (steps[middle] <= step) low = middle; else high = middle;
  }
  return Math.abs(steps[low] - step) <= Math.abs(steps[high] - step) ? low : high;
}

const BINARY = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** Three significant digits, as the text of the page writes them. */
function plainNumber(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  const rounded = Number(value.toPrecision(3)), size = Math.abs(rounded);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e");
  return size >= 1000 ? Math.round(value).toLocaleString("en-US") : String(rounded);
}

/** A number with its unit. */
function quantity(value, unit) {
  if (unit === "bytes" && Number.isFinite(value)) {
    let place = 0;
    while (Math.abs(value) >= 1024 && place < BINARY.length - 1) { value /= 1024; place++; }
    return `${plainNumber(value)} ${BINARY[place]}`;
  }
  if (unit === "seconds") return `${plainNumber(value)} s`;
  return plainNumber(value);
}

/** A tick of an axis: as short as a number can be. */
function tickNumber(value, unit) {
  if (unit === "bytes") return quantity(value, unit).replace(" bytes", " B").replace("iB", "");
  const size = Math.abs(value);
  if (size >= 1e9) return `${Number((value / 1e9).toPrecision(4))}G`;
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(4))}M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(4))}k`;
  if (size > 0 && size < 1e-3) return value.toExponential(1).replace(".0e", "e");
  return String(Number(value.toPrecision(6)));
}
