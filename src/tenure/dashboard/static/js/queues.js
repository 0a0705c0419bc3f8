// Queues: depth, age and rate of each; pause and resume.
import { ask, perform } from "./asking.js";
import { count, rate, seconds, text } from "./format.js";
import { html } from "./lib.js";
import { useLoad } from "./live.js";
import { Empty, Page, Shown, When } from "./parts.js";
import { exactly, jobsHref } from "./route.js";

export async function pause(name) {
  const answer = await ask({ title: `Pause the queue ${name}?`, text: "Nothing more is claimed from it; what runs goes on.", yes: "Pause it" });
  return answer && perform({ action: "pause", name }, { undo: () => resume(name) });
}

export const resume = (name) => perform({ action: "resume", name });

function Row({ one, operator }) {
  const name = text(one.name);
  const of = (state, shown = count(one[state], one.capped.includes(state))) => html`<a href=${jobsHref(`state:${state} queue:${exactly(name)}`)}>${shown}</a>`;
  return html`<tr data-queue=${name}><td><a href=${jobsHref(`queue:${exactly(name)}`)}><b>${name}</b></a></td><td>${one.paused ? html`<span class="state state-paused">paused</span> <${When} at=${one.paused_at} />` : html`<span class="faint">open</span>`}</td>
    ${["ready", "running", "scheduled", "waiting", "dead"].map((state) => html`<td class="r num">${of(state)}</td>`)}
    <td class="r num">${of("ready", seconds(one.oldest_ready))}</td><td class="r num">${of("done", rate(one.rate))}</td>
    <td class="r">${operator && (one.paused ? html`<button type="button" class="small" onClick=${() => resume(name)}>Resume</button>` : html`<button type="button" class="small" onClick=${() => pause(name)}>Pause</button>`)}</td></tr>`;
}

export function Queues({ operator }) {
  const load = useLoad("queues");
  return html`<${Page} title="Queues"><${Shown} load=${load}>${(data) => (data.queues.length
    ? html`<div class="scroll"><table><thead><tr><th>Queue</th><th></th><th class="r">Ready</th><th class="r">Running</th><th class="r">Scheduled</th><th class="r">Waiting</th><th class="r">Dead</th><th class="r">Oldest waits</th><th class="r">Rate</th><th></th></tr></thead><tbody>${data.queues.map((one) => html`<${Row} key=${one.name} one=${one} operator=${operator} />`)}</tbody></table></div>`
    : html`<${Empty} title="No queues yet">A queue appears with its first job.<//>`)}<//><//>`;
}
