// The keyboard: keys of the whole page, and keys that the page on show brings along. None is heard while somebody types.
import { isAsking } from "./asking.js";
import { html, useEffect, useRef, useState } from "./lib.js";
import { go } from "./route.js";

export const PAGES = [
  { page: "overview", letter: "o", name: "Overview" },
  { page: "jobs", letter: "j", name: "Jobs" },
  { page: "errors", letter: "e", name: "Errors" },
  { page: "queues", letter: "q", name: "Queues" },
  { page: "workers", letter: "w", name: "Workers" },
  { page: "cron", letter: "c", name: "Cron" },
  { page: "webhooks", letter: "h", name: "Webhooks" },
  { page: "system", letter: "s", name: "System" },
];

const local = [];
let going = 0;
let filtering = false;

export function useKeys(handlers) {
  const latest = useRef(handlers);
  latest.current = handlers;
  useEffect(() => {
    const mine = { find: (key) => latest.current[key] };
    local.push(mine);
    return () => local.splice(local.indexOf(mine), 1);
  }, []);
}

// Where j and k point in a list that changes by itself: at what has this name, not at a place. Where that is gone nothing is
// meant, and j and k go on from where it was; another list (`of`) begins anew.
export function usePointer(names, of) {
  const [name, point] = useState(null);
  const last = useRef(0);
  useEffect(() => {
    last.current = 0;
    point(null);
  }, [of]);
  const at = names.indexOf(name);
  if (at >= 0) last.current = at;
  const step = (by) => {
    const to = at >= 0 ? at + by : last.current + Math.min(by, 0);
    if (names.length) point(names[Math.max(0, Math.min(to, names.length - 1))]);
  };
  return { named: at >= 0 ? name : null, point, step };
}

// A box that is ticked takes no letters.
const typing = (target) => target instanceof Element && target.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]") !== null;

function focusFilter() {
  const box = document.querySelector("#filter");
  if (box) return box.focus();
  filtering = true;
  return go("#/jobs");
}

// Whether the filter was asked for on another page: it is told once, to the box when it is there.
export function filterWanted() {
  const was = filtering;
  filtering = false;
  return was;
}

export function startKeys({ palette, help }) {
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      return palette();
    }
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || isAsking()) return undefined;
    const goTo = Date.now() - going < 1500 && PAGES.find((one) => one.letter === event.key);
    going = event.key === "g" ? Date.now() : 0;
    if (goTo) return go(`#/${goTo.page}`);
    if (event.key === "/") return event.preventDefault(), focusFilter();
    if (event.key === "?") return help();
    const found = [...local].reverse().map((one) => one.find(event.key)).find(Boolean);
    if (found && !(event.key === "Enter" && event.target.closest("a, button"))) {
      event.preventDefault();
      found(event);
    }
    return undefined;
  });
}

const HELP = [
  ["/", "filter jobs"], ["Ctrl K", "find anything: pages, queues, filters, actions"], ["j  k", "down and up a list"], ["Enter", "open"],
  ["x", "select; Shift with a click selects up to there; snooze an error"], ["r", "retry"], ["c", "cancel; discard an error's jobs"], ["Esc", "close, or select nothing"], ["?", "this"],
  ...PAGES.map((one) => [`g ${one.letter}`, one.name]),
];

export const Help = ({ onEnd }) => {
  const dialog = useRef(null);
  useEffect(() => dialog.current.showModal(), []);
  return html`<dialog ref=${dialog} class="ask help" aria-label="Keys" onCancel=${onEnd} onClick=${(event) => event.target === dialog.current && onEnd()}>
    <h2>Keys</h2><dl class="keys">${HELP.map(([key, does]) => html`<div><dt>${key.split(/\s+/).map((one) => html`<kbd>${one}</kbd> `)}</dt><dd>${does}</dd></div>`)}</dl>
    <div class="buttons"><button type="button" onClick=${onEnd}>Close</button></div>
  </dialog>`;
};
