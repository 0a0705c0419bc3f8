// Hash routes: #/jobs?q=state:dead is {page: "jobs", rest: "", params: {q}}. The address is the state, so it can be shared.
import { useEffect, useState } from "./lib.js";

export function read() {
  const [path, search = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [page, ...rest] = path.split("/");
  return { page: page || "overview", rest: decode(rest.join("/")), params: Object.fromEntries(new URLSearchParams(search)) };
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function href(page, params = {}) {
  const given = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return `#/${page}${given.length ? `?${new URLSearchParams(given)}` : ""}`;
}

export function go(to, { replace = false } = {}) {
  if (replace) {
    history.replaceState(null, "", to);
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    location.hash = to;
  }
}

export const jobHref = (id) => href(`job/${encodeURIComponent(id)}`);
export const chainHref = (id) => href(`chain/${encodeURIComponent(id)}`);
export const flowHref = (flow) => href(`flow/${encodeURIComponent(flow)}`);
export const jobsHref = (q) => href("jobs", { q });

// Links from the API go only within the page.
export const inside = (link) => (typeof link === "string" && link.startsWith("#/") ? link : "#/");

export function useRoute() {
  const [route, set] = useState(read);
  useEffect(() => {
    const turn = () => set(read());
    window.addEventListener("hashchange", turn);
    return () => window.removeEventListener("hashchange", turn);
  }, []);
  return route;
}

// A value as the filter language wants it: in quotes where blanks, commas, quotes or a backslash stand in it.
export function quoted(value) {
  return /[\s,"\\]/.test(value) || value === "" ? `"${value.replace(/\\/g, "\\\\").replace(/"/g, '\\"')}"` : value;
}

// A kind or a queue as itself: a star in its name stands for nothing else.
export function exactly(name) {
  return quoted(name.replace(/\*/g, "\\*"));
}
