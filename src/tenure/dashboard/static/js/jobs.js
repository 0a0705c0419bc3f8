// Jobs: what a filter matches, newest first; select some, or act on all that match. The address holds the filter.
import { actOnFilter, actOnRows } from "./acting.js";
import { query } from "./api.js";
import { FilterBox } from "./filterbox.js";
import { count, jobs as jobsWord, madeAt, moment } from "./format.js";
import { Cells, HEAD } from "./jobrow.js";
import { useKeys, usePointer } from "./keys.js";
import { html, useEffect, useRef, useState } from "./lib.js";
import { useLoad } from "./live.js";
import { Copy, Empty, Page, Problem, Waiting } from "./parts.js";
import { go, href, jobHref } from "./route.js";

const QUICK = [["All", ""], ["Dead", "state:dead"], ["Running", "state:running"], ["Ready", "state:ready"], ["Scheduled", "state:scheduled"], ["Done", "state:done"]];

function useChosen(rows, q) {
  const [chosen, choose] = useState(new Set());
  const last = useRef(null);
  useEffect(() => choose(new Set()), [q]);
  // A range begins at the job that was picked last, wherever that is by now; if it is gone, there is no range.
  const pick = (id, ranged) => {
    const next = new Set(chosen);
    const ids = rows.map((row) => row.id), at = ids.indexOf(id), other = ranged ? ids.indexOf(last.current) : -1;
    const on = !chosen.has(id);
    for (const one of other < 0 ? [id] : ids.slice(Math.min(at, other), Math.max(at, other) + 1)) on ? next.add(one) : next.delete(one);
    last.current = id;
    choose(next);
  };
  return { chosen, pick, none: () => choose(new Set()), all: () => choose(new Set(rows.map((row) => row.id))) };
}

function Bar({ rows, q, total, chosen, none, operator }) {
  const picked = rows.filter((row) => chosen.has(row.id));
  if (picked.length) {
    return html`<div class="bar on"><b class="num">${jobsWord(picked.length)} selected</b>
      ${operator && ["retry", "cancel", "purge"].map((action) => html`<button type="button" onClick=${() => actOnRows(action, picked).then((done) => done && none())}>${{ retry: "Retry", cancel: "Cancel", purge: "Delete" }[action]}</button>`)}
      <${Copy} text=${picked.map((row) => row.id).join("\n")} label="Copy ids" /><button type="button" class="quiet" onClick=${none}>Select none</button></div>`;
  }
  return html`<div class="bar"><span class="num" data-count>${total && (total.total || !total.more) ? `${jobsWord(total.total, total.more)} ${q ? "match" : "in all"}` : "\u00a0"}</span>
    ${operator && q && total && total.total > 0 && html`<span class="faint">Act on all ${count(total.total, total.more)}:</span>${["retry", "cancel", "purge"].map(
      (action) => html`<button type="button" class="small" onClick=${() => actOnFilter(action, q)}>${{ retry: "Retry all", cancel: "Cancel all", purge: "Delete all" }[action]}</button>`)}`}
    <${Copy} text=${location.href} label="Copy link" /></div>`;
}

export function Jobs({ params, operator }) {
  const q = params.q || "";
  // A page may be empty and yet not the last: the store looks at so many jobs at a time. So it is asked for the next.
  const [from, seek] = useState(null);
  useEffect(() => seek(null), [q, params.before]);
  const load = useLoad(`jobs${query({ q, before: from || params.before, limit: 100 })}`, { every: 1000, idle: 5000 });
  const further = load.data && load.data.jobs.length === 0 && load.data.before;
  useEffect(() => { if (further) seek(further); }, [further]);
  // Meanwhile something newer may match: where it was begun is looked at as well, and shown once there is something.
  const head = useLoad(from ? `jobs${query({ q, before: params.before, limit: 1 })}` : null, { every: 1000, idle: 5000 });
  const newer = Boolean(from && head.data && head.data.jobs.length);
  useEffect(() => { if (newer) seek(null); }, [newer]);
  const rows = load.data ? load.data.jobs : [];
  const { chosen, pick, none, all } = useChosen(rows, q);
  const { named, point, step } = usePointer(rows.map((row) => row.id), `${q} ${params.before}`);
  useEffect(() => document.querySelector("tr.here")?.scrollIntoView({ block: "nearest" }), [named]);
  const here = rows.find((row) => row.id === named);
  const meant = () => { const picked = rows.filter((row) => chosen.has(row.id)); return picked.length ? picked : here ? [here] : []; };
  const doing = (action) => () => operator && meant().length && actOnRows(action, meant()).then((done) => done && none());
  useKeys({
    j: () => step(1), k: () => step(-1), x: () => here && pick(named, false),
    Enter: () => here && go(jobHref(here.id)), r: doing("retry"), c: doing("cancel"), Escape: none,
  });
  const apply = (text) => go(href("jobs", { q: text }));
  const allOn = rows.length > 0 && rows.every((row) => chosen.has(row.id));
  return html`<${Page} title="Jobs">
    <${FilterBox} q=${q} problem=${load.error} onApply=${apply} />
    <nav class="quick" aria-label="Common filters">${QUICK.map(([name, text]) => html`<a class=${text === q ? "on" : ""} href=${href("jobs", { q: text })}>${name}</a>`)}</nav>
    ${load.error && !(load.error.said && load.error.said.start !== undefined) && html`<${Problem} error=${load.error} />`}
    <${Bar} rows=${rows} q=${q} total=${load.data && load.data.count} chosen=${chosen} none=${none} operator=${operator} />
    ${(!load.data || further) && from ? html`<p class="waiting" aria-busy="true">No match yet, looked back to ${moment(madeAt(from))} …</p>` : !load.data ? !load.error && html`<${Waiting} />` : rows.length === 0
      ? html`<${Empty} title=${q ? "No job matches" : "No jobs yet"}>${q ? html`Nothing in this store is <span class="mono">${q}</span>. <a href="#/jobs">Show all jobs</a>.` : html`Enqueue one: <span class="mono">tenure enqueue KIND JSON</span>. It shows here by itself.`}<//>`
      : html`<div class="scroll"><table class="jobs choose"><thead><tr><th class="tick"><input type="checkbox" aria-label="Select every job shown" checked=${allOn} onChange=${allOn ? none : all} /></th>${HEAD}</tr></thead>
        <tbody>${rows.map((row) => html`<tr key=${row.id} data-id=${row.id} class=${`${row === here ? "here" : ""} ${chosen.has(row.id) ? "chosen" : ""}`} onClick=${(event) => !event.target.closest("a, input") && (point(row.id), event.shiftKey && pick(row.id, true))}>
          <td class="tick"><input type="checkbox" aria-label=${`Select job ${row.id}`} checked=${chosen.has(row.id)} onClick=${(event) => pick(row.id, event.shiftKey)} /></td><${Cells} row=${row} /></tr>`)}</tbody></table></div>
        <nav class="pages">${params.before && html`<a href=${href("jobs", { q })}>Newest</a>`}${load.data.before && html`<a href=${href("jobs", { q, before: load.data.before })}>Older</a>`}</nav>`}
  <//>`;
}
