// Workers: who is there, what they take, how busy they are, and what they run just now.
import { bytes, count, text } from "./format.js";
import { html } from "./lib.js";
import { useLoad } from "./live.js";
import { Empty, JobLink, Page, Shown, When } from "./parts.js";

const list = (given) => (Array.isArray(given) ? given.map(text).join(", ") : text(given));

function Row({ one }) {
  const running = one.jobs || [], said = one.about || {}, busy = Math.max(one.busy || 0, running.length);
  const shown = running.slice(0, 6), left = busy - shown.length;
  const made = [said.version && `tenure ${text(said.version)}`, said.python && `Python ${text(said.python)}`].filter(Boolean).join(", ");
  return html`<tr><td class="who" title=${text(one.id)}><div class="clip mono">${text(one.id)}</div><div class="faint" data-version>${made && `${made}, `}<span class="whole" data-started>started <${When} at=${one.started_at} /></span></div></td>
    <td class="r num">${count(busy)} / ${one.slots ? count(one.slots) : "–"}</td><td>${one.slots > 0 && html`<meter min="0" max=${one.slots} value=${busy}></meter>`}</td>
    <td class="clip narrow" title=${list(one.queues)}>${list(one.queues) || "any"}</td><td class="clip narrow" title=${list(one.kinds)}>${list(one.kinds) || "any"}</td><td class="num"><${When} at=${one.seen_at} /></td>
    <td class="r num" data-memory>${bytes(said.rss)}</td>
    <td class="r num">${count(said.waiting)}</td><td class="r num">${said.stuck ? html`<span class="err">${count(said.stuck)}</span>` : count(said.stuck)}</td><td class="r num">${count(said.ended)}</td>
    <td>${shown.map((job) => html`<${JobLink} id=${job.id} /> `)}${left > 0 && html`<span class="faint" data-left>+${count(left)}</span>`}</td></tr>`;
}

export function Workers() {
  const load = useLoad("workers", { every: 2000 });
  return html`<${Page} title="Workers"><${Shown} load=${load}>${(data) => (data.workers.length
    ? html`<div class="scroll"><table><thead><tr><th>Worker</th><th class="r">Busy</th><th></th><th>Queues</th><th>Kinds</th><th>Seen</th><th class="r">Memory</th><th class="r">Held</th><th class="r">Stuck</th><th class="r">Ended</th><th>Runs now</th></tr></thead><tbody>${data.workers.map((one) => html`<${Row} key=${one.id} one=${one} />`)}</tbody></table></div>`
    : html`<${Empty} title="No worker is alive">Nothing is run until one starts: <span class="mono">tenure worker module:app</span>.<//>`)}<//><//>`;
}
