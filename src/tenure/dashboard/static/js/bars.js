// Bars on a line of time: waiting is light, running is solid. Widths are set through the DOM, as the page's policy asks.
import { epoch, moment, seconds, text } from "./format.js";
import { html } from "./lib.js";

const clamp = (value) => Math.max(0, Math.min(100, value));

export function Line({ from, to, bars, label }) {
  const whole = Math.max(to - from, 0.001);
  return html`<div class="line" role="img" aria-label=${label}>${bars.map((bar) => {
    const left = clamp(((bar.from - from) / whole) * 100);
    const width = Math.max(0.3, clamp(((bar.to - from) / whole) * 100) - left);
    return html`<i class=${`bar-${bar.kind}`} style=${{ left: `${left}%`, width: `${Math.min(width, 100 - left)}%` }} title=${`${bar.name}: ${seconds(bar.to - bar.from)}`}></i>`;
  })}</div>`;
}

// What a job waited and ran, attempt by attempt: [{attempt, from, to, kind, name}].
export function barsOf(job) {
  const now = Date.now() / 1000;
  const bars = [];
  let free = epoch(job.created_at);
  for (const one of job.history || []) {
    const began = epoch(one.started_at), ended = epoch(one.finished_at) ?? (job.state === "running" ? now : began);
    if (began === null) continue;
    if (free !== null && began > free) bars.push({ attempt: one.attempt, from: free, to: began, kind: "wait", name: "waited" });
    bars.push({ attempt: one.attempt, from: began, to: Math.max(ended, began), kind: outcomeKind(text(one.outcome)), name: text(one.outcome) || "running" });
    free = ended;
  }
  const last = (job.history || []).at(-1);
  const began = epoch(job.started_at);
  if (began !== null && (!last || epoch(last.started_at) < began - 0.0005) && (job.state === "running" || job.finished_at)) {
    const ended = epoch(job.finished_at) ?? now;
    if (free !== null && began > free) bars.push({ attempt: job.attempt, from: free, to: began, kind: "wait", name: "waited" });
    bars.push({ attempt: job.attempt, from: began, to: ended, kind: job.state === "done" || job.state === "running" ? "run" : "fail", name: job.state });
    free = ended;
  } else if (["ready", "scheduled", "waiting"].includes(job.state) && free !== null) {
    bars.push({ attempt: (job.attempt || 0) + 1, from: free, to: now, kind: "wait", name: "waits" });
  }
  return bars;
}

const outcomeKind = (outcome) => (/done|ok|succe|running|^$/.test(outcome) ? "run" : /snooz|releas|cancel/.test(outcome) ? "rest" : "fail");

export function Timeline({ job }) {
  const bars = barsOf(job);
  if (!bars.length) return html`<p class="faint pad">It has not begun.</p>`;
  const from = bars[0].from, to = Math.max(...bars.map((bar) => bar.to));
  const tries = [...new Set(bars.map((bar) => bar.attempt))];
  const spent = (kind, attempt) => bars.filter((bar) => bar.attempt === attempt && (kind === "wait") === (bar.kind === "wait")).reduce((sum, bar) => sum + bar.to - bar.from, 0);
  return html`<div class="timeline"><div class="line-row head"><span></span><span class="ends"><time>${moment(new Date(from * 1000).toISOString())}</time><span>${seconds(to - from)} in all</span></span><span class="r">waited</span><span class="r">ran</span></div>
    ${tries.map((attempt) => html`<div class="line-row"><span class="num">try ${attempt}</span><${Line} from=${from} to=${to} bars=${bars.filter((bar) => bar.attempt === attempt)} label=${`Attempt ${attempt}: waited ${seconds(spent("wait", attempt))}, ran ${seconds(spent("run", attempt))}`} />
      <span class="r num">${seconds(spent("wait", attempt))}</span><span class="r num">${seconds(spent("run", attempt))}</span></div>`)}</div>`;
}
