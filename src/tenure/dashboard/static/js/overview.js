// Overview: what is wrong now in words, the figures of this moment, and how they went.
import { query } from "./api.js";
import { Chart } from "./chart.js";
import { count, isNumber, rate, seconds, share, text } from "./format.js";
import { html } from "./lib.js";
import { useLive, useLoad } from "./live.js";
import { Empty, Page, Shown, Spans } from "./parts.js";
import { exactly, go, href, inside, jobsHref } from "./route.js";

const SPANS = ["5m", "1h", "6h", "24h", "7d"];

// Each number in a sentence leads to what it counts.
function Words({ finding }) {
  const link = inside(finding.link);
  const parts = text(finding.text).split(/(\d[\d,.]*\d|\d)/);
  return html`${parts.map((part, at) => (at % 2 ? html`<a class="num" href=${link}>${part}</a>` : part))} <a class="look" href=${link}>look</a>`;
}

function Wrong({ findings }) {
  if (!findings.length) return html`<section class="wrong fine"><h2>Nothing is wrong</h2><p>No dead jobs piling up, nothing late, every queue is worked on.</p></section>`;
  return html`<section class="wrong"><h2>What is wrong now</h2><ul>${findings.map(
    (one) => html`<li class=${`level-${text(one.level)}`}><span class="level">${text(one.level)}</span> <span><${Words} finding=${one} /></span></li>`,
  )}</ul></section>`;
}

const Tile = ({ name, value, to, note, tone }) => html`<a class=${`tile ${tone || ""}`} href=${to}><span class="tile-name">${name}</span><span class="tile-value num" data-tile=${name}>${value}</span><span class="tile-note">${note || "\u00a0"}</span></a>`;

function Tiles({ now }) {
  const more = (name) => (now.capped || []).includes(name);
  const full = now.slots > 0 && now.busy >= now.slots;
  return html`<section class="tiles" aria-label="Now">
    <${Tile} name="Ready" value=${count(now.ready, more("ready"))} to=${jobsHref("state:ready")} note=${isNumber(now.oldest_ready) ? `oldest waits ${seconds(now.oldest_ready)}` : "nothing waits"} />
    <${Tile} name="Running" value=${count(now.running, more("running"))} to=${jobsHref("state:running")} note=${`${count(now.busy)} of ${count(now.slots)} slots busy`} tone=${full ? "warn" : ""} />
    <${Tile} name="Scheduled" value=${count(now.scheduled, more("scheduled"))} to=${jobsHref("state:scheduled")} note="for later" />
    <${Tile} name="Waiting" value=${count(now.waiting, more("waiting"))} to=${jobsHref("state:waiting")} note="held back" />
    <${Tile} name="Dead" value=${count(now.dead, more("dead"))} to=${jobsHref("state:dead")} note="given up" tone=${now.dead ? "bad" : ""} />
    <${Tile} name="Rate" value=${rate(now.rate)} to=${jobsHref("state:done")} note="in the last minute" />
    <${Tile} name="Errors" value=${share(now.error_rate)} to=${href("errors")} note="of attempts" tone=${now.error_rate > 0.05 ? "bad" : ""} />
  </section>`;
}

function Depths({ queues }) {
  const shown = (one, state) => count(one[state], one.capped.includes(state));
  const top = Math.max(1, ...queues.map((one) => (one.ready || 0) + (one.running || 0)));
  return html`<section class="panel"><header class="panel-head"><h2>Queues</h2><a href=${href("queues")}>all queues</a></header>
    ${queues.length === 0 ? html`<${Empty} title="No queues yet">A queue appears with its first job.<//>` : html`<div class="scroll"><table><thead><tr><th>Queue</th><th class="r">Ready</th><th class="r">Running</th><th class="r">Oldest waits</th><th class="r">Rate</th><th class="wide"></th></tr></thead>
    <tbody>${queues.map((one) => html`<tr><td><a href=${jobsHref(`queue:${exactly(text(one.name))}`)}>${text(one.name)}</a></td>
      <td class="r num"><a href=${jobsHref(`state:ready queue:${exactly(text(one.name))}`)}>${shown(one, "ready")}</a></td><td class="r num"><a href=${jobsHref(`state:running queue:${exactly(text(one.name))}`)}>${shown(one, "running")}</a></td>
      <td class="r num"><a href=${jobsHref(`state:ready queue:${exactly(text(one.name))}`)}>${seconds(one.oldest_ready)}</a></td><td class="r num"><a href=${jobsHref(`state:done queue:${exactly(text(one.name))}`)}>${rate(one.rate)}</a></td>
      <td class="wide"><span class="depth"><i class="wait" style=${{ width: `${((one.ready || 0) / top) * 100}%` }}></i><i class="run" style=${{ width: `${((one.running || 0) / top) * 100}%` }}></i></span></td></tr>`)}</tbody></table></div>`}
  </section>`;
}

function Charts({ data }) {
  const s = data.series, depths = data.depths || [];
  const perSecond = (values) => (values || []).map((n) => (n === null ? null : n / data.step));
  const percentiles = (name) => [["p50", "c1"], ["p95", "c2"], ["p99", "c3"]].map(([p, colour]) => ({ label: p, colour, values: s[`${name}_${p}`] || [] }));
  return html`<div class="charts">
    <${Chart} title="Throughput" label="Jobs done, failed, dead and cancelled per second, over time" times=${data.times} format=${rate}
      lines=${[{ label: "done", colour: "good", values: perSecond(s.done), fill: true }, { label: "failed", colour: "warn", values: perSecond(s.failed) }, { label: "dead", colour: "bad", values: perSecond(s.dead) }, { label: "cancelled", colour: "faint", values: perSecond(s.cancelled) }]} />
    <${Chart} title="Wait before the start" label="Percentiles of how long jobs waited" times=${data.times} format=${seconds} lines=${percentiles("wait")} />
    <${Chart} title="Run" label="Percentiles of how long jobs ran" times=${data.times} format=${seconds} lines=${percentiles("run")} />
    <${Chart} title="Depth by queue" label="Ready jobs of the deepest queues, over time" times=${data.times} format=${count}
      lines=${depths.length ? depths.map((one, at) => ({ label: text(one.queue), colour: `c${at + 1}`, values: one.ready })) : [{ label: "ready", colour: "c1", values: s.ready || [] }]} />
    <${Chart} title="Age of the oldest ready job" label="For how long the oldest ready job had waited, over time" times=${data.times} format=${seconds} lines=${[{ label: "oldest", colour: "warn", values: s.oldest || [], fill: true }]} />
    <${Chart} title="Error rate" label="The share of attempts that failed, over time" times=${data.times} format=${share} lines=${[{ label: "failed", colour: "bad", values: s.error_rate || [], fill: true }]} />
    <${Chart} title="Busy slots" label="Slots of all workers, and how many of them are busy, over time" times=${data.times} format=${count}
      lines=${[{ label: "busy", colour: "run", values: s.busy || [], fill: true }, { label: "slots", colour: "faint", values: s.slots || [] }]} />
  </div>`;
}

export function Overview({ params }) {
  const span = SPANS.includes(params.span) ? params.span : "1h";
  const load = useLoad(`overview${query({ span })}`, { every: 2000, idle: 10000 });
  const { now } = useLive();
  const pick = (one) => go(href("overview", { span: one }), { replace: true });
  return html`<${Page} title="Overview" aside=${html`<${Spans} span=${span} spans=${SPANS} onPick=${pick} />`}>
    <${Shown} load=${load}>${(data) => html`<${Wrong} findings=${data.wrong || []} /><${Tiles} now=${now || data.now} /><${Charts} data=${data} /><${Depths} queues=${data.queues || []} />`}<//>
  <//>`;
}
