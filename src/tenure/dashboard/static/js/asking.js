// Questions before anything is changed, and short words after it. `ask` resolves to the answers, or null for "no".
import * as api from "./api.js";
import { html, useEffect, useRef, useState } from "./lib.js";
import { nudge } from "./live.js";
import { Problem } from "./parts.js";

let show = () => {};
let toast = () => {};

export const isAsking = () => document.querySelector("dialog[open]") !== null;

// {title, text, yes, danger, body, fields: [{name, label, value, kind: "text"|"area"|"time"|"choice", hint}]}
export function ask(question) {
  return new Promise((resolve) => show({ ...question, resolve }));
}

export const say = (text, more = {}) => toast({ text, ...more });

// Do it, say what the API said, and let every page look again. Errors are shown, never thrown.
export async function perform(what, more = {}) {
  try {
    const done = await api.act(what);
    const undo = done.undo ? { undo: () => perform({ action: what.action === "discard" ? "restore" : "unreplay", name: done.undo }) } : {};
    say(done.said || "Done.", { ...more, ...undo, ...(done.act ? { act: done.act } : {}) });
    nudge();
    return done;
  } catch (error) {
    say(error.message, { error });
    return null;
  }
}

// What goes on after it was answered: how far it is, asked twice a second until it ends, while anybody sees it.
function Going({ act, total, onEnd }) {
  const [seen, see] = useState(null);
  useEffect(() => {
    let timer = 0, over = false;
    const look = async () => {
      if (document.hidden) {
        timer = setTimeout(look, 500);
        return;
      }
      const found = await api.get(`acts/${act}`).catch(() => null);
      if (over) return;
      if (found) see(found);
      if (found && found.more) timer = setTimeout(look, 500);
      else {
        nudge();
        onEnd();
      }
    };
    look();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [act]);
  if (!seen) return null;
  return html`<span class="going"><progress max=${total || undefined} value=${!seen.more ? total || 1 : total ? Math.min(seen.done, total) : undefined}></progress> <span>${seen.said}${seen.more ? " so far" : ""}</span></span>`;
}

function Field({ field, value, onInput }) {
  const id = `ask-${field.name}`;
  const common = { id, value, onInput: (event) => onInput(event.currentTarget.value) };
  return html`<label for=${id}>${field.label}</label>
    ${field.kind === "choice" ? html`<select ...${common}>${field.choices.map(([key, name]) => html`<option value=${key} selected=${key === value}>${name}</option>`)}</select>` : field.kind === "area" ? html`<textarea class="mono" rows="12" spellcheck=${false} ...${common}></textarea>` : html`<input type=${field.kind === "time" ? "datetime-local" : "text"} step="1" autocomplete="off" ...${common} />`}
    ${field.hint && html`<p class="faint hint">${field.hint}</p>`}`;
}

function Question({ question, onEnd }) {
  const [values, set] = useState(() => Object.fromEntries((question.fields || []).map((field) => [field.name, field.value || ""])));
  const dialog = useRef(null);
  useEffect(() => {
    dialog.current.showModal();
    const first = dialog.current.querySelector("textarea, input, select") || dialog.current.querySelector("button.yes");
    if (first) first.focus();
  }, []);
  const end = (answer) => {
    question.resolve(answer);
    onEnd();
  };
  return html`<dialog ref=${dialog} class="ask" aria-labelledby="ask-title" onCancel=${(event) => { event.preventDefault(); end(null); }}>
    <form onSubmit=${(event) => { event.preventDefault(); end(values); }}>
      <h2 id="ask-title">${question.title}</h2>
      ${question.text && html`<p>${question.text}</p>`}
      ${question.body}
      ${(question.fields || []).map((field) => html`<${Field} field=${field} value=${values[field.name]} onInput=${(value) => set({ ...values, [field.name]: value })} />`)}
      <div class="buttons"><button type="button" onClick=${() => end(null)}>${question.no || "No, leave it"}</button>
      <button type="submit" class=${`yes ${question.danger ? "danger" : "primary"}`}>${question.yes}</button></div>
    </form>
  </dialog>`;
}

export function Asking() {
  const [question, set] = useState(null);
  const [toasts, keep] = useState([]);
  const drop = (key) => keep((before) => before.filter((other) => other.key !== key));
  useEffect(() => {
    show = set;
    toast = (one) => {
      const key = Math.random();
      keep((before) => [...before.slice(-2), { ...one, key }]);
      if (!one.act) setTimeout(() => drop(key), one.error ? 15000 : one.undo ? 20000 : 8000);
    };
  }, []);
  return html`${question && html`<${Question} key=${question} question=${question} onEnd=${() => set(null)} />`}
    <div class="toasts" role="status" aria-live="polite">${toasts.map(
      (one) => html`<div class="toast" key=${one.key}>
        ${one.error ? html`<${Problem} error=${one.error} />` : one.act ? html`<${Going} act=${one.act} total=${one.total} onEnd=${() => setTimeout(() => drop(one.key), 8000)} />` : html`<span>${one.text}</span>`}
        ${one.undo && html`<button type="button" class="small" onClick=${() => { drop(one.key); one.undo(); }}>Undo</button>`}
        <button type="button" class="small quiet" aria-label="Close" onClick=${() => drop(one.key)}>×</button>
      </div>`,
    )}</div>`;
}
