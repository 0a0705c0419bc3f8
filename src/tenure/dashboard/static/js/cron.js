// Cron: each schedule in words, when it fires next, what its last runs came to; run now, pause, resume.
import { ask, perform } from "./asking.js";
import { moment, text } from "./format.js";
import { html } from "./lib.js";
import { useLoad } from "./live.js";
import { Empty, JobLink, Page, Shown, State, When } from "./parts.js";
import { exactly, href, jobsHref } from "./route.js";

async function run(name) {
  const answer = await ask({ title: `Run ${name} now?`, text: "A job is enqueued at once, beside those of the schedule.", yes: "Run it now" });
  return answer && perform({ action: "run_cron", name });
}

const pause = (name) => perform({ action: "pause_cron", name }, { undo: () => resume(name) });
const resume = (name) => perform({ action: "resume_cron", name });

function Card({ one, operator }) {
  const name = text(one.name), next = one.next || [], runs = one.runs, made = jobsHref(`kind:${exactly(text(one.kind))}`);
  return html`<article class="panel cron" data-cron=${name}><header class="panel-head"><h2>${name} ${one.paused_at && html`<span class="state state-paused">paused</span>`}</h2>
    ${operator && html`<div class="buttons"><button type="button" class="small" onClick=${() => run(name)}>Run now</button>${one.paused_at ? html`<button type="button" class="small" onClick=${() => resume(name)}>Resume</button>` : html`<button type="button" class="small" onClick=${() => pause(name)}>Pause</button>`}</div>`}</header>
    <dl class="facts"><div><dt>When</dt><dd>${text(one.text)} <span class="faint mono">${text(one.cron)}</span></dd></div>
      <div><dt>Kind</dt><dd><a href=${made}>${text(one.kind)}</a>${one.untaken && html` <span class="err">no live worker takes it</span>`}</dd></div>
      <div><dt>Last</dt><dd><${When} at=${one.fired_at} /></dd></div>
      <div><dt>Runs</dt><dd>${runs === null ? html`<a href=${made}>not looked up here</a>` : runs.length ? html`<ul class="times" data-runs>${runs.map((job) => html`<li><${JobLink} id=${job.id} /> <${State} of=${job.state} /> <${When} at=${job.finished_at || job.started_at || job.created_at} /></li>`)}</ul>` : html`<span class="faint">${one.gone ? "none that is kept; how the last went is not known" : "none yet"}</span>`}</dd></div>
      <div><dt>Next</dt><dd>${one.paused_at ? html`<span class="faint">not while it is paused</span>` : next.length ? html`<ol class="times">${next.map((at) => html`<li class="num"><time dateTime=${at}>${moment(at)}</time></li>`)}</ol>` : "–"}</dd></div>
      ${one.problem && html`<div><dt>Problem</dt><dd class="err">${text(one.problem)}</dd></div>`}
      <div><dt>Missed</dt><dd>${text(one.missed)}</dd></div></dl></article>`;
}

// Where "what is wrong now" leads: those alone that it counts.
const ONLY = {
  late: ["should have fired by now", (one) => one.late],
  failed: ["failed when last run", (one) => one.failed],
  untaken: ["make jobs that no live worker takes", (one) => one.untaken],
  broken: ["cannot fire", (one) => Boolean(one.problem)],
};

export function Cron({ operator, params }) {
  const load = useLoad("cron", { every: 2000 });
  const [words, fits] = ONLY[params.only] || ["", () => true];
  return html`<${Page} title="Cron"><${Shown} load=${load}>${(data) => { const all = data.schedules; return all.length ? html`${words && html`<p class="faint" data-only>Those alone that ${words}: ${all.filter(fits).length} of ${all.length}. <a href=${href("cron")}>All schedules</a></p>`}<div class="cards">${all.filter(fits).map((one) => html`<${Card} key=${one.name} one=${one} operator=${operator} />`)}</div>`
    : html`<${Empty} title="No schedules">Give a job one: <span class="mono">@app.cron("0 3 * * *")</span>. A worker makes it known when it starts.<//>`; }}<//><//>`;
}
