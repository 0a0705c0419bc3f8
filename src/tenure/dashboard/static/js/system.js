// System: what the doctor finds, with the fix for each; and who did what on this page.
import { query } from "./api.js";
import { count, text } from "./format.js";
import { html, useState } from "./lib.js";
import { useLoad } from "./live.js";
import { Copy, Empty, Page, Problem, Shown, When } from "./parts.js";

function Finding({ one }) {
  return html`<li class=${`level-${text(one.level)}`}><span class="level">${text(one.level)}</span><div><b>${text(one.check)}</b> <span>${text(one.found)}</span>
    ${one.fix && html`<p class="fix"><span class="faint">Fix:</span> <span class="mono wrap">${text(one.fix)}</span> <${Copy} text=${text(one.fix)} /></p>`}</div></li>`;
}

// What has no end that is known goes on, or its process was killed on its way.
function cameOfIt(one) {
  return one.ended ? text(one.said) : html`<b>begun, no end known</b>${one.said && `; ${text(one.said)}`}`;
}

function Entries({ all }) {
  return html`<div class="scroll"><table><thead><tr><th>When</th><th>Who</th><th>What</th><th class="r">How many</th><th>Which</th><th class="wide">What came of it</th></tr></thead><tbody>${all.map((one) => html`<tr key=${one.id}><td class="num"><${When} at=${one.at} /></td><td>${text(one.who)}</td><td>${text(one.action)}</td><td class="r num">${count(one.count)}</td><td class="mono clip">${text(one.what)}</td><td class="wide clip">${cameOfIt(one)}</td></tr>`)}</tbody></table></div>`;
}

// The newest first, and older ones a page at a time.
function Audit() {
  const [before, go] = useState(undefined);
  const load = useLoad(`audit${query({ before })}`, { every: 2000, idle: 15000 });
  return html`<section class="panel"><header class="panel-head"><h2>Who did what</h2>${before && html`<button type="button" class="small" onClick=${() => go(undefined)}>Newest</button>`}</header>
    <${Shown} load=${load}>${(data) => (data.entries.length
    ? html`<${Entries} all=${data.entries} />${data.before && html`<p class="pad"><button type="button" class="small" onClick=${() => go(data.before)}>Older</button></p>`}`
    : html`<${Empty} title=${before ? "There is nothing older" : "Nothing was done here yet"}>Every retry, cancel, pause and the like is kept here with who did it.<//>`)}<//></section>`;
}

export function System({ me }) {
  const load = useLoad("system", { every: 30000, idle: 30000 });
  return html`<${Page} title="System">
    <section class="panel"><dl class="facts"><div><dt>Tenure</dt><dd class="num">${text(me && me.version)}</dd></div><div><dt>Store</dt><dd>${text(me && me.store)}</dd></div><div><dt>You are</dt><dd>${text(me && me.role)}</dd></div><div><dt>Payloads</dt><dd>${me && me.mask ? "some fields are masked" : "shown as they are"}</dd></div></dl></section>
    <section class="panel"><header class="panel-head"><h2>What the doctor says</h2></header>${load.error && html`<${Problem} error=${load.error} />`}
      ${load.data && ((load.data.findings || []).length ? html`<ul class="findings">${load.data.findings.map((one) => html`<${Finding} one=${one} />`)}</ul>` : html`<${Empty} title="Nothing found">${load.data.findings === null ? "There is no doctor here to ask." : "Every check passed."}<//>`)}</section>
    <${Audit} />
  <//>`;
}
