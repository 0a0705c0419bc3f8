// What can be done to jobs: each first says how many are meant and shows a few of them, and asks.
import * as api from "./api.js";
import { ask, perform, say } from "./asking.js";
import { jobs as jobsWord, shortId, text } from "./format.js";
import { html } from "./lib.js";
import { State } from "./parts.js";

const WORDS = {
  retry: { title: "Retry", yes: "Retry", note: "Each starts anew, with all its attempts. It can be undone, of up to 10,000 jobs, for those that no worker has claimed yet." },
  cancel: { title: "Cancel", yes: "Cancel them", note: "What is pending is cancelled; what runs is asked to stop. This cannot be undone: Retry starts a cancelled job anew, at once.", danger: true },
  discard: { title: "Discard", yes: "Discard", note: "Dead jobs end as cancelled, and are deleted when cancelled jobs are. Until then it can be undone, of up to 10,000 jobs.", danger: true },
  purge: { title: "Delete", yes: "Delete for good", note: "Finished jobs are deleted with their history. This cannot be undone.", danger: true },
};

const Sample = ({ rows, total }) => html`<ul class="sample">
  ${rows.slice(0, 5).map((row) => html`<li><span class="mono">${shortId(row.id)}</span> <${State} of=${row.state} /> <b>${text(row.kind)}</b> <span class="faint clip">${text(row.error)}</span></li>`)}
  ${total > 5 && html`<li class="faint">… and more</li>`}</ul>`;

const RATE = { name: "rate", label: "No faster than (jobs a second)", value: "", hint: "Left empty: all at once." };

// Jobs by their ids: rows are what is shown of them.
export async function actOnRows(action, rows) {
  const words = WORDS[action];
  const answer = await ask({
    title: `${words.title} ${jobsWord(rows.length)}?`, text: words.note, yes: words.yes, danger: words.danger,
    body: html`<${Sample} rows=${rows} total=${rows.length} />`,
  });
  if (!answer) return null;
  return perform({ action, ids: rows.map((row) => row.id) });
}

// The newest jobs that a filter matches and an action can change, however far back they are: one answer looks only so far, and
// says where it stopped.
export async function newest(action, q, limit) {
  let page = await api.get(`jobs${api.query({ q, limit, action })}`);
  while (!page.jobs.length && page.before) page = await api.get(`jobs${api.query({ q, limit, action, before: page.before })}`);
  return page;
}

// Every job that a filter matches, as far as the action can change it: the API says which filter that is.
export async function actOnFilter(action, given, { rate = action === "retry" } = {}) {
  const words = WORDS[action];
  let page;
  try {
    page = await newest(action, given, 5);
  } catch (error) {
    say(error.message, { error });
    return null;
  }
  if (!page.jobs.length) return say(`There is no job here to ${words.title.toLowerCase()}.`);
  const { q, count: { total, more } } = page;
  const answer = await ask({
    title: `${words.title} all ${jobsWord(total, more)}?`, text: words.note, yes: `${words.yes}: ${jobsWord(total, more)}`, danger: words.danger,
    body: html`<p class="mono filter-shown">${q}</p><${Sample} rows=${page.jobs} total=${total} />`,
    fields: rate ? [RATE] : [],
  });
  if (!answer) return null;
  return perform({ action, q, ...(answer.rate ? { rate: rateOf(answer.rate) } : {}) }, { total: more ? 0 : total });
}

function rateOf(given) {
  const number = Number(given.trim().replace(/\s*\/\s*s$/, ""));
  return Number.isFinite(number) ? number : 0;
}

export async function retryAt(row) {
  const answer = await ask({ title: "Retry this job later", yes: "Retry it then", text: "It starts anew at that time, under its id and with all its attempts.", fields: [{ name: "at", label: "When (your local time)", kind: "time", value: soon() }] });
  if (!answer) return null;
  const at = new Date(answer.at);
  return perform({ action: "retry", ids: [row.id], at: Number.isNaN(at.valueOf()) ? answer.at : at.toISOString() });
}

export async function retryEdited(row) {
  const answer = await ask({
    title: "Retry with another payload", yes: "Enqueue it", text: "A new job of the same kind is enqueued with this payload. The old one stays as it is.",
    fields: [{ name: "payload", label: "Payload (JSON)", kind: "area", value: row.payload }],
  });
  return answer && perform({ action: "enqueue_edited", ids: [row.id], payload: answer.payload });
}

function soon() {
  const at = new Date(Date.now() + 600000);
  return new Date(at.valueOf() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
}
