// The page around the charts: toolbar, theme, search, printing.

function listen(id, kind, act) {
  const element = document.getElementById(id);
  if (element) element.addEventListener(kind, () => act(element));
}

/** The theme in use: the reader's choice, else the system's. */
function themeNow() {
  return document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

function repaint() {
  colours = coloursNow();
  const button = document.getElementById("theme");
  if (button) button.textContent = themeNow() === "dark" ? "Light" : "Dark";
  remake();
}

function chooseTheme(name) {
  document.documentElement.dataset.theme = name;
  try { localStorage.setItem("rlprobe-theme", name); } catch { /* a page from a file may store nothing */ }
  repaint();
}

function rememberedTheme() {
  try { return localStorage.getItem("rlprobe-theme"); } catch { return null; }
}

/** Hides the charts whose name does not hold the words, and opens the drawers that hold one that does. */
function find(words) {
  const wanted = words.trim().toLowerCase();
  for (const figure of document.querySelectorAll("figure.panel")) figure.hidden = !figure.dataset.find.includes(wanted);
  for (const drawer of document.querySelectorAll("#charts details.more")) {
    const hit = drawer.querySelector("figure.panel:not([hidden])") !== null;
    drawer.hidden = wanted !== "" && !hit;
    if (wanted !== "" && hit) drawer.open = true;
  }
  for (const stage of document.querySelectorAll("#charts .stage")) {
    stage.hidden = wanted !== "" && stage.querySelector("figure.panel:not([hidden])") === null;
  }
}

/** Opens what a link points into. */
function reveal() {
  const target = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
  if (target && target.tagName === "DETAILS") target.open = true;
}

function startPage() {
  document.documentElement.classList.add("scripted");
  const remembered = rememberedTheme();
  if (remembered === "light" || remembered === "dark") document.documentElement.dataset.theme = remembered;
  listen("theme", "click", () => chooseTheme(themeNow() === "dark" ? "light" : "dark"));
  listen("smooth", "change", (element) => { view.smooth = Number(element.value); remake(); });
  listen("raw", "change", (element) => { view.raw = element.checked; remake(); });
  listen("log", "change", (element) => { view.log = element.checked; remake(); });
  listen("find", "input", (element) => find(element.value));
  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => zoom(button.dataset.zoom === "all" ? null : around(report.findings[Number(button.dataset.zoom)])));
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  addEventListener("hashchange", reveal);
  addEventListener("beforeprint", () => { for (const drawer of document.querySelectorAll(".followers details, details.table")) drawer.open = true; });
  colours = coloursNow();
  if (report.domain) startCharts();
  repaint();
  reveal();
  document.documentElement.dataset.ready = "true";
}

startPage();
