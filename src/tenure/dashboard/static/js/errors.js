// Errors: what is dead or failing, grouped by what went wrong; replay, snooze or discard a group; and undo what was done so.
import { actOnFilter, actOnRows, newest } from "./acting.js";
import { query } from "./api.js";
import { ask, perform, say } from "./asking.js";
import { count, jobs as jobsWord, moment, text } from "./format.js";
import { useKeys, usePointer } from "./keys.js";
import { html } from "./lib.js";
import { useLive, useLoad } from "./live.js";
import { Empty, JobLink, Page, Shown, Spans, Spark, When } from "./parts.js";
import { exactly, go, href, jobHref, jobsHref } from "./route.js";

const SPANS = ["1h", "6h", "24h", "7d", "all"];
const WITHIN = { "1h": "in the last hour", "6h": "in the last 6 hours", "24h": "in the last 24 hours", "7d": "in the last 7 days", all: "is kept" };

// The dead jobs of a group, and no others.
export const filterOf = (group) => `state:dead fingerprint:${group.fingerprint}`;

// The newest of them: the example may have been started anew since, or never died.
async function replayOne(group) {
  try {
    const page = await newest("retry", filterOf(group), 1);
    return page.jobs.length ? actOnRows("retry", page.jobs) : say("None of its jobs is dead any more.");
  } catch (error) {
    return say(error.message, { error });
  }
}

async function snooze(group) {
  const answer = await ask({ title: "Snooze this error", text: "It moves to the end of this page until then. Its jobs are not touched.", yes: "Snooze", fields: [{ name: "hours", label: "For how long", kind: "choice", value: "24", choices: [["1", "an hour"], ["4", "four hours"], ["24", "a day"], ["168", "a week"]] }] });
  if (!answer) return null;
  return perform({ action: "snooze_error", name: group.fingerprint, at: new Date(Date.now() + Number(answer.hours) * 3600000).toISOString() }, { undo: () => wake(group) });
}

const wake = (group) => perform({ action: "snooze_error", name: group.fingerprint, at: "" });
const isSnoozed = (group) => Boolean(group.snoozed_until) && Date.parse(group.snoozed_until) > Date.now();

function Group({ group, here, operator, onPoint }) {
  const q = filterOf(group);
  const sleeping = isSnoozed(group);
  return html`<article class=${`group ${here ? "here" : ""} ${sleeping ? "sleeping" : ""}`} data-fingerprint=${group.fingerprint} onClick=${onPoint}>
    <div class="group-words"><h2><span class="err">${text(group.error_kind) || "Error"}</span> <span class="faint">in</span> <a href=${jobsHref(`kind:${exactly(text(group.kind))}`)}>${text(group.kind)}</a></h2>
      <p class="mono wrap">${text(group.message)}</p>
      ${group.frame && html`<p class="faint mono wrap" data-frame>at ${text(group.frame)}</p>`}
      <p class="faint">first <${When} at=${group.first_seen} />, last <${When} at=${group.last_seen} />, for example <${JobLink} id=${group.sample_id} />${sleeping && html`, snoozed until ${moment(group.snoozed_until)}`}</p></div>
    <div class="group-figures"><span class="num big">${count(group.count)}</span><span class="faint">failures</span><a class="num big" href=${jobsHref(q)}>${count(group.dead)}</a><span class="faint">died</span></div>
    <${Spark} values=${group.spark} />
    ${operator && html`<div class="buttons start"><button type="button" class="small" onClick=${() => replayOne(group)}>Replay one</button>
      <button type="button" class="small" onClick=${() => actOnFilter("retry", q)}>Replay all …</button>
      ${sleeping ? html`<button type="button" class="small" onClick=${() => wake(group)}>Wake</button>` : html`<button type="button" class="small" onClick=${() => snooze(group)}>Snooze …</button>`}
      <button type="button" class="small danger" onClick=${() => actOnFilter("discard", q)}>Discard …</button></div>`}
  </article>`;
}

// What was done to many of late, by anybody, and can still be undone.
function Lately() {
  const { data } = useLoad("undos", { every: 2000, idle: 10000 });
  if (!data || !data.undos.length) return null;
  return html`<section class="panel" data-lately><header class="panel-head"><h2>Lately</h2><span class="faint">and can still be undone</span></header>
    <div class="scroll"><table><tbody>${data.undos.map((one) => html`<tr key=${one.name} data-undo=${one.name}><td><button type="button" class="small" onClick=${() => perform({ action: one.undo, name: one.name })}>Undo</button></td>
      <td class="num"><${When} at=${one.at} /></td><td>${text(one.said)}${one.more && " so far"}</td><td class="wide mono clip" title=${text(one.what)}>${text(one.what)}</td></tr>`)}</tbody></table></div></section>`;
}

// No failure of this span; jobs that failed before may be dead all the same, and then it says how many.
function None({ span, only }) {
  const { now } = useLive();
  const dead = now ? now.dead : 0, more = now !== null && (now.capped || []).includes("dead");
  return html`<${Empty} title=${`No failure ${only ? "of this group " : ""}${WITHIN[span]}`}>
    ${dead > 0 && html`<span data-dead><a href="#/jobs?q=state:dead">${jobsWord(dead, more)}</a> ${dead === 1 && !more ? "is" : "are"} dead now. </span>`}
    ${span !== "all" && html`What failed before is shown by a longer span: <a href=${href("errors", { span: "all", fingerprint: only })}>all that is kept</a>.`}<//>`;
}

export function Errors({ params, operator }) {
  const span = SPANS.includes(params.span) ? params.span : "24h";
  const load = useLoad(`errors${query({ span, fingerprint: params.fingerprint })}`, { every: 2000, idle: 10000 });
  const groups = [...(load.data ? load.data.groups : [])].sort((a, b) => isSnoozed(a) - isSnoozed(b));
  const { named, point, step } = usePointer(groups.map((group) => group.fingerprint), `${span} ${params.fingerprint}`);
  const here = groups.find((group) => group.fingerprint === named);
  useKeys({
    j: () => step(1), k: () => step(-1), Enter: () => here && go(jobHref(here.sample_id)),
    r: () => here && operator && actOnFilter("retry", filterOf(here)), x: () => here && operator && snooze(here),
    c: () => here && operator && actOnFilter("discard", filterOf(here)),
  });
  const pick = (one) => go(href("errors", { span: one, fingerprint: params.fingerprint }), { replace: true });
  return html`<${Page} title="Errors" aside=${html`<${Spans} span=${span} spans=${SPANS} onPick=${pick} />`}>
    ${params.fingerprint && html`<p class="faint" data-only>One group alone. <a href=${href("errors", { span })}>All errors</a></p>`}
    <${Shown} load=${load}>${() => (groups.length ? html`<div class="groups">${groups.map((group) => html`<${Group} key=${group.fingerprint} group=${group} here=${group === here} operator=${operator} onPoint=${() => point(group.fingerprint)} />`)}</div>` : html`<${None} span=${span} only=${params.fingerprint} />`)}<//>
    ${operator && html`<${Lately} />`}<//>`;
}
