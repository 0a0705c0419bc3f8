// Dark or light: the system's choice, unless somebody chose here.
const KEY = "tenure-theme";
const system = matchMedia("(prefers-color-scheme: light)");

export const chosen = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
export const current = () => chosen() || (system.matches ? "light" : "dark");

function paint() {
  document.documentElement.dataset.theme = current();
  window.dispatchEvent(new Event("theme"));
}

export function turn() {
  const next = current() === "dark" ? "light" : "dark";
  try { localStorage.setItem(KEY, next); } catch { /* kept for this visit only */ }
  document.documentElement.dataset.theme = next;
  window.dispatchEvent(new Event("theme"));
}

export function startTheme() {
  paint();
  system.addEventListener("change", paint);
}

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
