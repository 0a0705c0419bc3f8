// The live stream: one EventSource for the whole page, closed while the page is hidden. Each "now" is a beat; who shows
// something asks again on a beat, but never more often than it said.
import { get } from "./api.js";
import { useEffect, useRef, useState } from "./lib.js";

const beats = new Set();
const watchers = new Set();
const live = { state: "connecting", now: null };
let source = null;
let again = 0;

function tell(change) {
  Object.assign(live, change);
  for (const watcher of watchers) watcher({ ...live });
}

function beat(atOnce = false) {
  for (const hear of beats) hear(atOnce);
}

function open() {
  clearTimeout(again);
  if (source || document.hidden) return;
  source = new EventSource("api/stream");
  source.addEventListener("open", () => tell({ state: "live" }));
  source.addEventListener("now", (event) => {
    tell({ state: "live", now: JSON.parse(event.data) });
    beat();
  });
  source.addEventListener("error", () => {
    if (!source || source.readyState !== EventSource.CLOSED) return tell({ state: "away" });
    source = null;
    again = setTimeout(open, 3000);
    return why();
  });
}

// A stream that was refused does not say why; the API does.
async function why() {
  const error = await get("me").then(() => null, (problem) => problem);
  if (!source && !document.hidden) tell({ state: error && error.status === 401 ? "out" : "away" });
}

function close(state) {
  clearTimeout(again);
  if (source) source.close();
  source = null;
  tell({ state });
}

export function start() {
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return close("paused");
    open();
    beat(true);
  });
  window.addEventListener("pagehide", () => close("paused"));
  window.addEventListener("pageshow", open);
  open();
}

// Something was done here: every page looks at once, and again when answers that are kept for a moment are fresh.
export function nudge() {
  beat(true);
  setTimeout(beat, 1200, true);
}

export function useLive() {
  const [seen, see] = useState({ ...live });
  useEffect(() => {
    watchers.add(see);
    see({ ...live });
    return () => watchers.delete(see);
  }, []);
  return seen;
}

// What `path` answers, asked again on a beat (at most every `every` ms) and when the last answer is `idle` ms old. The last
// answer stays while the next is fetched, and when it fails; with no path it is forgotten.
export function useLoad(path, { every = 1000, idle = 10000 } = {}) {
  const [got, set] = useState({ path: null, data: null, error: null });
  const reload = useRef(() => {});
  useEffect(() => {
    if (path === null) return set({ path: null, data: null, error: null });
    const control = new AbortController();
    let timer = 0, busy = false, wanted = false, last = 0, over = false;
    const load = async () => {
      clearTimeout(timer);
      busy = true;
      wanted = false;
      try {
        const data = await get(path, control.signal);
        if (!over) set({ path, data, error: null });
      } catch (error) {
        if (!over) set((before) => ({ path, data: before.path === path ? before.data : null, error }));
      }
      busy = false;
      last = Date.now();
      if (!over) plan(wanted ? every : idle);
    };
    const plan = (wait) => {
      clearTimeout(timer);
      timer = setTimeout(() => (document.hidden ? plan(idle) : load()), wait);
    };
    const hear = (atOnce) => {
      if (document.hidden) return;
      if (busy) wanted = true;
      else plan(atOnce ? 0 : Math.max(0, last + every - Date.now()));
    };
    reload.current = () => (busy ? (wanted = true) : load());
    beats.add(hear);
    load();
    return () => {
      over = true;
      beats.delete(hear);
      clearTimeout(timer);
      control.abort();
    };
  }, [path]);
  const current = got.path === path ? got : { data: null, error: null };
  return { data: current.data, error: current.error, reload: () => reload.current() };
}
