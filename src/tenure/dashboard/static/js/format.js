// Numbers, times and spans of time, as people read them.
const plain = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

export function count(value, more = false) {
  if (!isNumber(value)) return "–";
  return `${value >= 1e6 ? short.format(value) : plain.format(value)}${more ? "+" : ""}`;
}

export function jobs(n, more = false) {
  return `${count(n, more)} ${n === 1 && !more ? "job" : "jobs"}`;
}

export function seconds(value) {
  if (!isNumber(value)) return "–";
  const s = Math.abs(value);
  if (s === 0) return "0 s";
  if (s < 0.0009995) return `${Math.round(s * 1e6)} µs`;
  if (s < 1) return `${s < 0.01 ? (s * 1000).toFixed(1) : Math.round(s * 1000)} ms`;
  if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} m ${Math.floor(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} m`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

export function rate(value) {
  if (!isNumber(value)) return "–";
  return `${value >= 100 ? count(Math.round(value)) : value >= 10 ? value.toFixed(1) : value.toFixed(2)}/s`;
}

export function share(value) {
  if (!isNumber(value)) return "–";
  return `${(value * 100).toFixed(value > 0 && value < 0.1 ? 1 : 0)} %`;
}

export function bytes(value) {
  if (!isNumber(value) || value <= 0) return "–";
  return value < 1e6 ? `${Math.round(value / 1e3)} kB` : value < 1e9 ? `${Math.round(value / 1e6)} MB` : `${(value / 1e9).toFixed(1)} GB`;
}

export const epoch = (text) => (text ? Date.parse(text) / 1000 : null);

export function ago(text) {
  const at = epoch(text);
  if (at === null || Number.isNaN(at)) return "–";
  const past = Date.now() / 1000 - at;
  if (Math.abs(past) < 1) return "now";
  const [size, unit] = Math.abs(past) < 60 ? [1, "s"] : Math.abs(past) < 3600 ? [60, "m"] : Math.abs(past) < 86400 ? [3600, "h"] : [86400, "d"];
  const n = Math.floor(Math.abs(past) / size);
  return past > 0 ? `${n} ${unit} ago` : `in ${n} ${unit}`;
}

const two = (n) => String(n).padStart(2, "0");

export function moment(text) {
  const at = epoch(text);
  if (at === null || Number.isNaN(at)) return "–";
  const d = new Date(at * 1000);
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

// Anything that an answer holds, as text: never as markup.
export function text(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

// When a job was made, by its id: a UUIDv7 begins with the milliseconds.
export const madeAt = (id) => new Date(parseInt(text(id).replace("-", "").slice(0, 12), 16)).toISOString();

export const shortId = (id) => text(id).slice(-8);
