// The palette (Ctrl+K): pages, queues, common filters, a job by its id, a filter as typed, and the switch of colours.
import { get } from "./api.js";
import { text } from "./format.js";
import { PAGES } from "./keys.js";
import { html, useEffect, useRef, useState } from "./lib.js";
import { pause, resume } from "./queues.js";
import { exactly, go, jobHref, jobsHref } from "./route.js";
import { turn } from "./theme.js";

const FIXED = [
  ...PAGES.map((one) => ({ name: one.name, hint: `g ${one.letter}`, run: () => go(`#/${one.page}`) })),
  { name: "Dead jobs of the last day", hint: "state:dead age:<1d", run: () => go(jobsHref("state:dead age:<1d")) },
  { name: "Jobs that run for long", hint: "state:running age:>1h", run: () => go(jobsHref("state:running age:>1h")) },
  { name: "Jobs on their third try or later", hint: "attempt:>=3", run: () => go(jobsHref("attempt:>=3")) },
  { name: "Switch between dark and light", hint: "", run: turn },
];

function ofQueues(queues, operator) {
  return queues.flatMap((one) => [
    { name: `Queue ${text(one.name)}`, hint: "jobs", run: () => go(jobsHref(`queue:${exactly(text(one.name))}`)) },
    ...(operator ? [{ name: `${one.paused ? "Resume" : "Pause"} queue ${text(one.name)}`, hint: "", run: () => (one.paused ? resume : pause)(text(one.name)) }] : []),
  ]);
}

function found(typed, queues, operator) {
  const words = typed.trim().toLowerCase();
  const fit = [...FIXED, ...ofQueues(queues, operator)].filter((one) => words.split(/\s+/).every((word) => `${one.name} ${one.hint}`.toLowerCase().includes(word)));
  const given = typed.trim();
  if (/^[0-9a-f-]{32,36}$/i.test(given)) fit.unshift({ name: `Open job ${given}`, hint: "job", run: () => go(jobHref(given)) });
  else if (given.includes(":")) fit.unshift({ name: `Jobs: ${given}`, hint: "filter", run: () => go(jobsHref(given)) });
  return fit.slice(0, 14);
}

export function Palette({ operator, onEnd }) {
  const [typed, type] = useState("");
  const [at, move] = useState(0);
  const [queues, set] = useState([]);
  const dialog = useRef(null);
  useEffect(() => {
    dialog.current.showModal();
    get("queues").then((data) => set(data.queues || []), () => {});
  }, []);
  const offers = found(typed, queues, operator);
  const take = (one) => { onEnd(); if (one) one.run(); };
  const onKey = (event) => {
    if (event.key === "ArrowDown") event.preventDefault(), move(Math.min(at + 1, offers.length - 1));
    else if (event.key === "ArrowUp") event.preventDefault(), move(Math.max(at - 1, 0));
    else if (event.key === "Enter") event.preventDefault(), take(offers[at]);
  };
  return html`<dialog ref=${dialog} class="palette" aria-label="Find anything" onCancel=${onEnd} onClick=${(event) => event.target === dialog.current && onEnd()}>
    <input type="text" autofocus placeholder="A page, a queue, a filter, a job's id" aria-label="Find anything" value=${typed} onInput=${(event) => { type(event.currentTarget.value); move(0); }} onKeyDown=${onKey} />
    <ul role="listbox">${offers.map((one, index) => html`<li role="option" aria-selected=${index === at} class=${index === at ? "on" : ""} onMouseMove=${() => move(index)} onClick=${() => take(one)}><span>${one.name}</span><span class="faint mono">${one.hint}</span></li>`)}
      ${offers.length === 0 && html`<li class="faint">Nothing is called that.</li>`}</ul></dialog>`;
}
