// Webhooks: the sources that a gateway in this process takes deliveries from, and what it answered.
import { count, seconds, text } from "./format.js";
import { html } from "./lib.js";
import { useLoad } from "./live.js";
import { Empty, Page, Shown } from "./parts.js";
import { jobsHref, quoted } from "./route.js";

const sum = (counts) => Object.values(counts || {}).reduce((all, n) => all + n, 0);
const each = (counts) => Object.entries(counts || {}).map(([name, n]) => html`<span class="tag">${name} <b class="num">${count(n)}</b></span> `);

function Row({ one }) {
  const q = [one.kind && `kind:${quoted(text(one.kind))}`, one.queue && `queue:${quoted(text(one.queue))}`].filter(Boolean).join(" ");
  return html`<tr><td>${q ? html`<a href=${jobsHref(q)}><b>${text(one.slug)}</b></a>` : html`<b>${text(one.slug)}</b>`}</td><td class="mono">${text(one.path)}</td><td>${text(one.type)}</td><td class="mono">${text(one.handler)}</td>
    <td class="r num">${count(sum(one.requests))}</td><td>${each(one.requests)}</td><td>${each(one.rejects)}</td><td class="r num">${count(one.duplicates)}</td><td class="r num">${seconds(one.mean_seconds)}</td></tr>`;
}

export function Webhooks() {
  const load = useLoad("webhooks", { every: 2000 });
  return html`<${Page} title="Webhooks"><${Shown} load=${load}>${(data) => (data.sources.length
    ? html`<div class="scroll"><table><thead><tr><th>Source</th><th>Path</th><th>Type</th><th>Handler</th><th class="r">Requests</th><th>Answers</th><th>Refused</th><th class="r">Twice</th><th class="r">Mean answer</th></tr></thead><tbody>${data.sources.map((one) => html`<${Row} key=${one.slug} one=${one} />`)}</tbody></table></div>`
    : html`<${Empty} title=${data.served ? "The gateway has no sources" : "No gateway is served here"}>${data.served ? "Name one in its configuration." : html`This page shows the gateway of the same process. What one elsewhere took in is among the <a href="#/jobs">jobs</a>, each with its request.`}<//>`)}<//><//>`;
}
