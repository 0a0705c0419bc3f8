// Small parts that pages share. Whatever comes from the store is put in as text.
import { html, useEffect, useState } from "./lib.js";
import * as format from "./format.js";
import { jobHref } from "./route.js";

export const State = ({ of }) => html`<span class=${`state state-${format.text(of)}`}>${format.text(of)}</span>`;

export function When({ at }) {
  if (!at) return html`<span class="faint">–</span>`;
  return html`<time dateTime=${at} title=${`${format.moment(at)} (local)`}>${format.ago(at)}</time>`;
}

export const JobLink = ({ id, short = true }) =>
  html`<a class="mono" href=${jobHref(id)} title=${id}>${short ? format.shortId(id) : id}</a>`;

export const Empty = ({ title, children }) => html`<div class="empty"><p class="empty-title">${title}</p><p>${children}</p></div>`;

export const Waiting = () => html`<p class="waiting" aria-busy="true">Loading …</p>`;

// What the API refused, with the field, the rule and the fix it named; who was logged out is told where to log in.
export function Problem({ error }) {
  if (!error) return null;
  const said = error.said && typeof error.said === "object" ? error.said : null;
  const parts = said ? ["field", "rule", "value", "expected", "near", "fix"].filter((name) => said[name] !== undefined && said[name] !== null && said[name] !== "") : [];
  const title = error.status === 0 ? "Cannot reach the API" : error.status === 401 || error.status === 403 ? "Not allowed" : "That did not work";
  return html`<div class="problem" role="alert">
    <strong>${title}</strong> <span>${error.message}</span>${error.status === 401 && html` <a href="login">Log in</a>`}
    ${parts.length > 0 && html`<dl>${parts.map((name) => html`<dt>${name}</dt><dd class=${name === "value" ? "mono" : ""}>${format.text(said[name])}</dd>`)}</dl>`}
  </div>`;
}

export function Shown({ load, children }) {
  return html`${load.error && html`<${Problem} error=${load.error} />`}${load.data ? children(load.data) : !load.error && html`<${Waiting} />`}`;
}

async function put(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "offstage";
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

export function Copy({ text, label = "Copy" }) {
  const [done, mark] = useState(false);
  useEffect(() => {
    const timer = done && setTimeout(() => mark(false), 1500);
    return () => clearTimeout(timer);
  }, [done]);
  return html`<button type="button" class="small" onClick=${async () => { await put(text); mark(true); }}>${done ? "Copied" : label}</button>`;
}

export function Exact({ title, text, empty }) {
  return html`<section class="panel">
    <header class="panel-head"><h2>${title}</h2>${text !== null && html`<${Copy} text=${text} />`}</header>
    ${text === null ? html`<p class="faint pad">${empty}</p>` : html`<pre class="exact">${text}</pre>`}
  </section>`;
}

export function Progress({ of }) {
  if (of === null || of === undefined) return null;
  const given = typeof of === "object" ? of.share ?? of.fraction ?? of.done : of;
  const words = typeof of === "object" ? of.message ?? of.note ?? "" : "";
  if (!format.isNumber(given)) return html`<span class="mono">${format.text(of)}</span>`;
  const share = given > 1 ? given / 100 : given;
  return html`<span class="progress-line"><progress max="1" value=${share}></progress> <span class="num">${format.share(share)}</span> ${words && html`<span class="faint">${format.text(words)}</span>`}</span>`;
}

export function Spark({ values }) {
  const given = Array.isArray(values) ? values : [];
  const top = Math.max(1, ...given);
  const step = given.length > 1 ? 100 / (given.length - 1) : 100;
  const points = given.map((value, at) => `${(at * step).toFixed(1)},${(23 - (value / top) * 21).toFixed(1)}`).join(" ");
  return html`<svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label=${`${given.reduce((a, b) => a + b, 0)} in the last 24 hours, at most ${Math.max(0, ...given)} in one`}><polyline points=${points} /></svg>`;
}

export const Page = ({ title, aside, children }) =>
  html`<header class="page-head"><h1>${title}</h1>${aside && html`<div class="aside">${aside}</div>`}</header>${children}`;

export function Spans({ span, spans, onPick }) {
  return html`<div class="segments" role="group" aria-label="Span of time">${spans.map(
    (one) => html`<button type="button" class=${one === span ? "on" : ""} aria-pressed=${one === span} onClick=${() => onPick(one)}>${one}</button>`,
  )}</div>`;
}
