// Webhooks: the sources that a gateway in this process takes deliveries from, and what it answered; or what others noted in the store.
import { count, seconds, text } from "./format.js";
import { html } from "./lib.js";
import { useLoad } from "./live.js";
import { Empty, Page, Shown, When } from "./parts.js";
import { exactly, jobsHref } from "./route.js";

const sum = (counts) => Object.values(counts || {}).reduce((all, n) => all + n, 0);
const each = (counts) => Object.entries(counts || {}).map(([name, n]) => html`<span class="tag">${name} <b class="num">${count(n)}</b></span> `);

function Row({ one }) {
  const q = [one.kind && `kind:${exactly(text(one.kind))}`, one.queue && `queue:${exactly(text(one.queue))}`].filter(Boolean).join(" ");
  return html`<tr><td>${q ? html`<a href=${jobsHref(q)}><b>${text(one.slug)}</b></a>` : html`<b>${text(one.slug)}</b>`}</td><td class="mono">${text(one.path)}</td><td>${text(one.type)}</td><td class="mono">${text(one.handler)}</td>
    <td class="r num">${count(sum(one.requests))}</td><td>${each(one.requests)}</td><td>${each(one.rejects)}</td><td class="r num">${count(one.duplicates)}</td><td class="r num">${seconds(one.mean_seconds)}</td></tr>`;
}

function Noted({ one }) {
  const answer = `${one.status || "hung up"}${one.status && one.reason ? ` (${text(one.reason)})` : ""}`;
  return html`<tr><td><b>${text(one.slug)}</b></td><td class="num"><${When} at=${one.at} /></td><td>${answer}</td><td class="num"><${When} at=${one.taken_at} /></td><td>${each(one.rejects)}</td></tr>`;
}

const Served = ({ all }) =>
  html`<div class="scroll"><table><thead><tr><th>Source</th><th>Path</th><th>Type</th><th>Handler</th><th class="r">Requests</th><th>Answers</th><th>Refused</th><th class="r">Twice</th><th class="r">Mean answer</th></tr></thead><tbody>${all.map((one) => html`<${Row} key=${one.slug} one=${one} />`)}</tbody></table></div>`;

const Elsewhere = ({ all }) =>
  html`<p class="faint">No gateway is served by this process. This is what others noted in the store, within ten seconds of a request; what they took in is among the <a href="#/jobs">jobs</a>.</p>
    <div class="scroll"><table><thead><tr><th>Source</th><th>Last request</th><th>Answer</th><th>Last taken</th><th>Refused in the last hour</th></tr></thead><tbody>${all.map((one) => html`<${Noted} key=${one.slug} one=${one} />`)}</tbody></table></div>`;

export function Webhooks() {
  const load = useLoad("webhooks", { every: 2000 });
  return html`<${Page} title="Webhooks"><${Shown} load=${load}>${(data) => (data.sources.length
    ? html`<${data.served ? Served : Elsewhere} all=${data.sources} />`
    : html`<${Empty} title=${data.served ? "The gateway has no sources" : "No gateway is served here"}>${data.served ? "Name one in its configuration." : html`This page shows the gateway of the same process, or what others noted in the store: nothing so far. What they took in is among the <a href="#/jobs">jobs</a>, each with its request.`}<//>`)}<//><//>`;
}
