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

// What a job waited and ran, run by run: [{run, attempt, from, to, kind, name}]. A job that was started anew counts its attempts
// from 1 again, so a run is known by its epoch; "last" and "next" are the one that is in no history yet, and the one to come.
export function barsOf(job) {
  const now = Date.now() / 1000;
  const bars = [];
  let free = epoch(job.created_at);
  const add = (run, attempt, began, ended, kind, name) => {
    if (free !== null && began > free) bars.push({ run, attempt, from: free, to: began, kind: "wait", name: "waited" });
    bars.push({ run, attempt, from: began, to: Math.max(ended, began), kind, name });
    free = ended;
  };
  for (const one of job.history || []) {
    const began = epoch(one.started_at);
    if (began !== null) add(one.epoch, one.attempt, began, epoch(one.finished_at) ?? began, outcomeKind(text(one.outcome)), text(one.outcome) || "running");
  }
  const last = (job.history || []).at(-1);
  const began = epoch(job.started_at);
  if (began !== null && (!last || last.started_at !== job.started_at) && (job.state === "running" || job.finished_at)) {
    add("last", job.attempt, began, epoch(job.finished_at) ?? now, job.state === "done" || job.state === "running" ? "run" : "fail", job.state);
  } else if (["ready", "scheduled", "waiting"].includes(job.state) && free !== null) {
    bars.push({ run: "next", attempt: (job.attempt || 0) + 1, from: free, to: now, kind: "wait", name: "waits" });
  }
  return bars;
}

// For how long it ran, or waited.
export const spent = (bars, kind) => bars.filter((bar) => (kind === "wait") === (bar.kind === "wait")).reduce((sum, bar) => sum + bar.to - bar.from, 0);

const outcomeKind = (outcome) => (/done|ok|succe|running|^$/.test(outcome) ? "run" : /snooz|releas|cancel/.test(outcome) ? "rest" : "fail");

export function Timeline({ job }) {
  const bars = barsOf(job);
  if (!bars.length) return html`<p class="faint pad">It has not begun.</p>`;
  const from = bars[0].from, to = Math.max(...bars.map((bar) => bar.to));
  const runs = [...new Set(bars.map((bar) => bar.run))].map((run) => bars.filter((bar) => bar.run === run));
  return html`<div class="timeline"><div class="line-row head"><span></span><span class="ends"><time>${moment(new Date(from * 1000).toISOString())}</time><span>${seconds(to - from)} in all</span></span><span class="r">waited</span><span class="r">ran</span></div>
    ${runs.map((mine) => html`<div class="line-row"><span class="num">try ${mine[0].attempt}</span><${Line} from=${from} to=${to} bars=${mine} label=${`Attempt ${mine[0].attempt}: waited ${seconds(spent(mine, "wait"))}, ran ${seconds(spent(mine, "run"))}`} />
      <span class="r num">${seconds(spent(mine, "wait"))}</span><span class="r num">${seconds(spent(mine, "run"))}</span></div>`)}</div>`;
}
