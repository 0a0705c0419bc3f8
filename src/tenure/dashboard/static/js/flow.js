// Flow: jobs of one name, or those that belong together by their parents, as bars on one line of time; the critical path is the chain
// that ended last.
import { query } from "./api.js";
import { barsOf, Line, spent } from "./bars.js";
import { epoch, jobs as jobsWord, seconds, text } from "./format.js";
import { html } from "./lib.js";
import { useLoad } from "./live.js";
import { Empty, JobLink, Page, Shown, State } from "./parts.js";
import { href, jobHref, jobsHref, quoted } from "./route.js";

const end = (job) => epoch(job.finished_at) ?? (["done", "dead", "cancelled"].includes(job.state) ? epoch(job.started_at) ?? epoch(job.created_at) : Date.now() / 1000);

// Parents before their children, each branch in the order it was enqueued; depth says how far in.
export function laidOut(rows) {
  const known = new Map(rows.map((row) => [row.id, row]));
  const under = new Map();
  for (const row of rows) {
    const parent = known.has(row.parent) ? row.parent : null;
    under.set(parent, [...(under.get(parent) || []), row]);
  }
  const out = [];
  const walk = (parent, depth) => {
    for (const row of (under.get(parent) || []).sort((a, b) => epoch(a.created_at) - epoch(b.created_at))) {
      if (out.length > rows.length) return;
      out.push({ row, depth });
      walk(row.id, depth + 1);
    }
  };
  walk(null, 0);
  return out;
}

export function criticalPath(rows) {
  const known = new Map(rows.map((row) => [row.id, row]));
  const path = new Set();
  // Of those that ended in the same moment the one that came last: a child, not its parent.
  let at = laidOut(rows).reduce((last, { row }) => (!last || end(row) >= end(last) ? row : last), null);
  while (at && !path.has(at.id)) {
    path.add(at.id);
    at = known.get(at.parent);
  }
  return path;
}

// Each run of it, and what it waited before; one that ended without a run has waited only.
function bars(row) {
  const all = barsOf(row), made = epoch(row.created_at);
  return all.length ? all : [{ from: made, to: Math.max(end(row), made), kind: "wait", name: "waited" }];
}

function Gantt({ rows }) {
  const from = Math.min(...rows.map((row) => epoch(row.created_at))), to = Math.max(...rows.map(end));
  const path = criticalPath(rows);
  return html`<section class="panel"><header class="panel-head"><h2>${jobsWord(rows.length)}, ${seconds(to - from)} from first to last</h2><span class="faint">waiting <i class="key bar-wait"></i> running <i class="key bar-run"></i> critical path <i class="key crit"></i></span></header>
    <div class="gantt">${laidOut(rows).map(({ row, depth }) => html`<div key=${row.id} class=${`gantt-row ${path.has(row.id) ? "crit" : ""}`}>
      <span class="gantt-name"><i class="indent" style=${{ width: `${Math.min(depth, 8) * 12}px` }}></i><${JobLink} id=${row.id} /> <b class="clip">${text(row.kind)}</b></span><${State} of=${row.state} />
      <${Line} from=${from} to=${to} bars=${bars(row)} label=${`${text(row.kind)}, ${row.state}`} /><span class="r num">${row.started_at ? seconds(spent(bars(row), "run")) : "–"}</span></div>`)}</div></section>`;
}

// A flow of many jobs is shown in parts, the newest first.
function Parts({ flow, params, before, shown }) {
  const part = (at) => href(`flow/${encodeURIComponent(flow)}`, { before: at });
  if (!before && !params.before) return null;
  return html`<p class="faint" data-part>${params.before ? html`Older jobs of this flow. <a href=${part()}>The newest</a> ` : html`The newest ${jobsWord(shown)} of this flow. `}${before && html`<a href=${part(before)}>Older</a>`}</p>`;
}

export function Flow({ rest, params }) {
  const load = useLoad(`flow/${encodeURIComponent(rest)}${query({ before: params.before })}`, { every: 1000, idle: 5000 });
  return html`<${Page} title=${html`Flow <span class="mono">${rest}</span>`} aside=${html`<a href=${jobsHref(`flow:${quoted(rest)}`)}>as a list</a>`}>
    <${Shown} load=${load}>${(data) => html`<${Parts} flow=${rest} params=${params} before=${data.before} shown=${data.jobs.length} />
      ${data.jobs.length ? html`<${Gantt} rows=${data.jobs} />` : html`<${Empty} title="No job belongs to this flow">Jobs join one with <span class="mono">kind.options(flow="…", parent=…).enqueue(…)</span>.<//>`}`}<//><//>`;
}

export function Chain({ rest }) {
  const load = useLoad(`chain/${encodeURIComponent(rest)}`, { every: 2000, idle: 5000 });
  return html`<${Page} title=${html`Chain of <span class="mono">${rest}</span>`} aside=${html`<a href=${jobHref(rest)}>the job</a>`}>
    <${Shown} load=${load}>${(data) => html`${data.more && html`<p class="faint" data-part>${jobsWord(data.jobs.length)} of this chain; there may be more.</p>`}<${Gantt} rows=${data.jobs} />`}<//><//>`;
}
