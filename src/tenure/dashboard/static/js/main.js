// The frame: who is here, the pages, the live dot, the palette and the keys.
import * as api from "./api.js";
import { Asking } from "./asking.js";
import { Cron } from "./cron.js";
import { Errors } from "./errors.js";
import { Chain, Flow } from "./flow.js";
import { Job } from "./job.js";
import { Jobs } from "./jobs.js";
import { Help, PAGES, startKeys } from "./keys.js";
import { html, render, useEffect, useState } from "./lib.js";
import { start, useLive } from "./live.js";
import { Overview } from "./overview.js";
import { Palette } from "./palette.js";
import { Empty, Page, Problem, Waiting } from "./parts.js";
import { Queues } from "./queues.js";
import { useRoute } from "./route.js";
import { System } from "./system.js";
import { startTheme, turn } from "./theme.js";
import { Webhooks } from "./webhooks.js";
import { Workers } from "./workers.js";

const SHOWN = { overview: Overview, jobs: Jobs, job: Job, flow: Flow, chain: Chain, errors: Errors, queues: Queues, workers: Workers, cron: Cron, webhooks: Webhooks, system: System };
const LIVE = { live: "live", away: "no connection", paused: "paused", connecting: "connecting", out: "logged out" };

function Dot() {
  const { state } = useLive();
  return html`<span class=${`dot dot-${state}`} role="status" data-live=${state} title=${`Live updates: ${LIVE[state]}`}><i></i>${state === "out" ? html`<a href="login">Log in</a>` : LIVE[state]}</span>`;
}

function Frame({ page, me, onPalette, onHelp, children }) {
  const here = { job: "jobs", flow: "jobs", chain: "jobs" }[page] || page;
  return html`<header class="top"><a class="brand" href="#/overview">tenure</a>
      <button type="button" class="find" onClick=${onPalette}>Find anything <kbd>Ctrl K</kbd></button><span class="grow"></span><${Dot} />
      ${me && html`<span class="store faint clip" title=${me.store}>${me.store}</span>${me.role === "viewer" && html`<span class="state">viewer</span>`}`}
      ${me && me.login && html`<button type="button" class="quiet" onClick=${api.leave}>Log out</button>`}
      <button type="button" class="quiet" onClick=${onHelp} aria-label="Keys">?</button><button type="button" class="quiet" onClick=${turn} aria-label="Switch between dark and light">◐</button></header>
    <nav class="side" aria-label="Pages">${PAGES.map((one) => html`<a href=${`#/${one.page}`} class=${one.page === here ? "on" : ""} aria-current=${one.page === here ? "page" : undefined}><span>${one.name}</span><kbd>g ${one.letter}</kbd></a>`)}</nav>
    <main id="main">${children}</main>`;
}

function App() {
  const route = useRoute();
  const [me, know] = useState(null);
  const [error, fail] = useState(null);
  const [over, open] = useState(null);
  useEffect(() => {
    const meet = () => api.me().then((found) => { know(found); fail(null); start(); }, (problem) => { fail(problem); if (problem.status === 0) setTimeout(meet, 1500); });
    meet();
    startKeys({ palette: () => open("palette"), help: () => open("help") });
  }, []);
  useEffect(() => {
    document.title = `${(PAGES.find((one) => one.page === route.page) || { name: route.page }).name} · Tenure`;
    window.scrollTo(0, 0);
  }, [route.page, route.rest]);
  const operator = me !== null && me.role === "operator";
  const Shown = SHOWN[route.page];
  return html`<${Frame} page=${route.page} me=${me} onPalette=${() => open("palette")} onHelp=${() => open("help")}>
      ${error && html`<${Page} title="Tenure"><${Problem} error=${error} />${error.status === 0 && html`<p class="faint">Trying again every few seconds.</p>`}<//>`}
      ${!error && !me && html`<${Waiting} />`}
      ${me && !error && (Shown ? html`<${Shown} key=${`${route.page}/${route.rest}`} rest=${route.rest} params=${route.params} operator=${operator} me=${me} />` : html`<${Empty} title="There is no such page"><a href="#/overview">To the overview</a>.<//>`)}
    <//>
    ${over === "palette" && html`<${Palette} operator=${operator} onEnd=${() => open(null)} />`}${over === "help" && html`<${Help} onEnd=${() => open(null)} />`}<${Asking} />`;
}

startTheme();
const root = document.getElementById("app");
root.replaceChildren();
render(html`<${App} />`, root);
