// One job: where it stands and why, what it was given and gave, each attempt, and what can be done about it.
import { actOnRows, retryAt, retryEdited } from "./acting.js";
import { perform } from "./asking.js";
import { Timeline } from "./bars.js";
import { ago, seconds, epoch, text } from "./format.js";
import { JobTable } from "./jobrow.js";
import { useKeys } from "./keys.js";
import { html } from "./lib.js";
import { useLoad } from "./live.js";
import { Copy, Empty, Exact, JobLink, Page, Problem, Progress, Shown, State, When } from "./parts.js";
import { chainHref, exactly, flowHref, jobsHref, quoted } from "./route.js";

const ENDED = ["done", "dead", "cancelled"];

function Fact({ name, children }) {
  return html`<div><dt>${name}</dt><dd>${children}</dd></div>`;
}

function Facts({ job }) {
  const some = [["unique", "Unique"], ["group", "Group"], ["tenant", "Tenant"], ["reason", "Reason"]].filter(([name]) => job[name]);
  return html`<section class="panel"><dl class="facts">
    <${Fact} name="Kind"><a href=${jobsHref(`kind:${exactly(text(job.kind))}`)}>${text(job.kind)}</a><//>
    <${Fact} name="Queue"><a href=${jobsHref(`queue:${exactly(text(job.queue))}`)}>${text(job.queue)}</a><//>
    <${Fact} name="Attempt"><span class="num">${job.attempt} of ${job.max_attempts}</span><//>
    <${Fact} name="Priority"><span class="num">${job.priority}</span><//>
    <${Fact} name="Enqueued"><${When} at=${job.created_at} /><//>
    <${Fact} name="Due"><${When} at=${job.run_at} /><//>
    <${Fact} name="Started"><${When} at=${job.started_at} /><//>
    <${Fact} name="Finished"><${When} at=${job.finished_at} /><//>
    ${job.worker && html`<${Fact} name="Worker"><span class="mono">${text(job.worker)}</span><//>`}
    ${job.expires_at && html`<${Fact} name="Expires"><${When} at=${job.expires_at} /><//>`}
    ${some.map(([name, shown]) => html`<${Fact} name=${shown}><span class="mono">${text(job[name])}</span><//>`)}
    ${job.flow && html`<${Fact} name="Flow"><a class="mono" href=${flowHref(job.flow)}>${text(job.flow)}</a><//>`}
    ${job.parent && html`<${Fact} name="Parent"><${JobLink} id=${job.parent} /><//>`}
    ${(job.parent || (job.children || []).length > 0) && html`<${Fact} name="Chain"><a href=${chainHref(job.id)}>on one line of time</a><//>`}
    ${(job.tags || []).length > 0 && html`<${Fact} name="Tags">${job.tags.map((tag) => html`<a class="tag" href=${jobsHref(`tag:${quoted(text(tag))}`)}>${text(tag)}</a> `)}<//>`}
    ${job.progress !== null && job.progress !== undefined && html`<${Fact} name="Progress"><${Progress} of=${job.progress} /> <span class="faint">${text(job.progress_note)}</span><//>`}
  </dl></section>`;
}

function Attempt({ one, last }) {
  const took = epoch(one.finished_at) !== null && epoch(one.started_at) !== null ? epoch(one.finished_at) - epoch(one.started_at) : null;
  return html`<details class="attempt" open=${last && Boolean(one.traceback)}><summary><span class="num">try ${one.attempt}</span> <b>${text(one.outcome) || "running"}</b>
      ${one.error_kind && html`<span class="err">${text(one.error_kind)}</span>`} <span class="clip grow">${text(one.message)}</span> <span class="faint num">${took === null ? "" : seconds(took)} ${ago(one.finished_at || one.started_at)}</span></summary>
    <p class="faint pad">on <span class="mono">${text(one.worker) || "an unknown worker"}</span></p>
    ${one.traceback ? html`<div class="over"><${Copy} text=${text(one.traceback)} /></div><pre class="exact trace">${text(one.traceback)}</pre>` : one.message && html`<pre class="exact">${text(one.message)}</pre>`}</details>`;
}

function Request({ request }) {
  const headers = Array.isArray(request.headers) ? request.headers : Object.entries(request.headers || {});
  const body = request.body_text ?? request.body_base64 ?? "";
  return html`<section class="panel"><header class="panel-head"><h2>The request it came with</h2><${Copy} text=${text(body)} label="Copy body" /></header>
    <div class="scroll"><table class="plain"><tbody>${headers.map(([name, value]) => html`<tr><th>${text(name)}</th><td class="mono wrap">${text(value)}</td></tr>`)}</tbody></table></div>
    ${request.body_base64 !== undefined && request.body_base64 !== null && html`<p class="faint pad">The body is no text; it is shown in base 64.</p>`}<pre class="exact">${text(body)}</pre></section>`;
}

function Actions({ job, operator }) {
  const cli = job.cli || {};
  return html`<div class="buttons start">
    ${operator && ENDED.includes(job.state) && html`<button type="button" class="primary" onClick=${() => actOnRows("retry", [job])}>Retry now</button><button type="button" onClick=${() => retryAt(job)}>Retry at …</button>`}
    ${operator && html`<button type="button" onClick=${() => retryEdited(job)}>Retry with edited payload …</button>`}
    ${operator && !ENDED.includes(job.state) && html`<button type="button" class="danger" onClick=${() => actOnRows("cancel", [job])}>Cancel</button>`}
    ${operator && ENDED.includes(job.state) && html`<button type="button" class="danger" onClick=${() => actOnRows("purge", [job])}>Delete</button>`}
    ${operator && job.state === "cancelled" && text(job.reason).startsWith("discarded") && html`<button type="button" onClick=${() => perform({ action: "restore", ids: [job.id] })}>Restore</button>`}
    ${Object.entries(cli).map(([name, line]) => html`<${Copy} text=${text(line)} label=${`Copy CLI: ${name}`} />`)}
  </div>`;
}

function Shows({ job, operator }) {
  const history = job.history || [], children = job.children || [];
  return html`<${Page} title=${html`<span class="mono">${job.id}</span>`} aside=${html`<${Copy} text=${job.id} label="Copy id" />`}>
    <section class="explain"><${State} of=${job.state} /> <p>${text(job.explain)}</p></section>
    <${Actions} job=${job} operator=${operator} />
    <div class="two"><${Facts} job=${job} />
      <section class="panel"><header class="panel-head"><h2>Timeline</h2><span class="faint">waiting <i class="key bar-wait"></i> running <i class="key bar-run"></i> failed <i class="key bar-fail"></i></span></header><${Timeline} job=${job} /></section></div>
    <section class="panel"><header class="panel-head"><h2>Attempts</h2></header>${history.length ? [...history].reverse().map((one, at) => html`<${Attempt} key=${one.attempt + text(one.started_at)} one=${one} last=${at === 0} />`) : html`<p class="faint pad">None has ended yet.</p>`}</section>
    <div class="two"><${Exact} title="Payload" text=${text(job.payload)} /><${Exact} title="Result" text=${job.result === null || job.result === undefined ? null : text(job.result)} empty="It has given no result." /></div>
    ${job.request && html`<${Request} request=${job.request} />`}
    ${children.length > 0 && html`<section class="panel"><header class="panel-head"><h2>${job.more_children ? `The newest ${children.length} of the jobs it made` : "Jobs it made"}</h2><a href=${jobsHref(`parent:${job.id}`)}>all of them</a></header><${JobTable} rows=${children} /></section>`}
  <//>`;
}

export function Job({ rest, operator }) {
  const load = useLoad(`jobs/${encodeURIComponent(rest)}`, { every: 1000, idle: 5000 });
  const job = load.data;
  const ended = job && ENDED.includes(job.state);
  useKeys({ r: () => operator && ended && actOnRows("retry", [job]), c: () => operator && job && !ended && actOnRows("cancel", [job]) });
  if (load.error && load.error.status === 404 && !job) return html`<${Page} title="Job"><${Empty} title="There is no such job">It may have been deleted, or retention took it. <a href="#/jobs">Show all jobs</a>.<//><${Problem} error=${load.error} /><//>`;
  return html`<${Shown} load=${load}>${(data) => html`<${Shows} job=${data} operator=${operator} />`}<//>`;
}
