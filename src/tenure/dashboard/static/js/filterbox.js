// The filter box: completes as one types, and shows where a mistake is. Enter applies, and leaves the keys to the page.
import { get, query } from "./api.js";
import { filterWanted } from "./keys.js";
import { html, useEffect, useRef, useState } from "./lib.js";

export function FilterBox({ q, problem, onApply }) {
  const [text, set] = useState(q);
  const [found, showOffers] = useState(null);
  const [at, showPicked] = useState(-1);
  // What is so now, for keys that come faster than the page is drawn.
  const now = useRef({ found: null, at: -1 });
  const offer = (offers) => { now.current.found = offers; showOffers(offers); };
  const pick = (place) => { now.current.at = place; showPicked(place); };
  const box = useRef(null);
  const asked = useRef(0);
  useEffect(() => {
    if (document.activeElement !== box.current) set(q);
  }, [q]);
  useEffect(() => {
    if (filterWanted()) box.current.focus();
  }, []);
  const wanted = useRef(false);
  const complete = async () => {
    const mine = ++asked.current;
    const input = box.current, written = input.value;
    try {
      const at = [...written.slice(0, input.selectionStart)].length; // in characters, as the server counts
      const got = { ...(await get(`complete${query({ q: written, at })}`)), written };
      if (mine !== asked.current || document.activeElement !== input) return;
      if (wanted.current && got.candidates.length) {
        wanted.current = false;
        take(got.candidates[0], got);
        return;
      }
      wanted.current = false;
      offer(got.candidates.length ? { ...got, candidates: got.candidates.slice(0, 12) } : null);
      pick(-1);
    } catch {
      offer(null);
    }
  };
  const shut = () => { asked.current++; offer(null); pick(-1); };
  const apply = (value) => { shut(); box.current.blur(); onApply(value.trim()); };
  // Offers belong to the text they were made for: where somebody has typed on, the next ones are waited for.
  const take = (one, from = now.current.found) => {
    if (from.written !== box.current.value) {
      wanted.current = true;
      return;
    }
    const word = typeof one === "string" ? one : one.text;
    const letters = [...from.written];
    const before = letters.slice(0, from.start).join("") + word, cursor = before.length;
    const next = before + letters.slice(from.end).join("");
    box.current.value = next; // at once: the next key may come before the page is drawn anew
    set(next);
    pick(-1); // so that Enter applies what was taken, however late the next offers come
    const mine = ++asked.current;
    requestAnimationFrame(() => {
      if (mine !== asked.current) return; // applied or typed on meanwhile: the keys are elsewhere, or the box has them
      box.current.focus();
      box.current.setSelectionRange(cursor, cursor);
      complete();
    });
  };
  const onKey = (event) => {
    const { found, at } = now.current;
    const n = found ? found.candidates.length : 0;
    if (event.key === "Escape") return n ? shut() : box.current.blur();
    if (event.key === "ArrowDown" && n) return event.preventDefault(), pick((at + 1) % n);
    if (event.key === "ArrowUp" && n) return event.preventDefault(), pick(at <= 0 ? n - 1 : at - 1);
    if (event.key === "Tab" && n && !event.shiftKey) return event.preventDefault(), take(found.candidates[Math.max(at, 0)]);
    if (event.key === "Enter") {
      event.preventDefault();
      return n && at >= 0 ? take(found.candidates[at]) : apply(box.current.value);
    }
    return undefined;
  };
  const bad = problem && problem.said && typeof problem.said === "object" && problem.said.start !== undefined && problem.said;
  return html`<div class="filter">
    <input id="filter" ref=${box} type="text" class="mono" value=${text} spellcheck=${false} autocomplete="off" autocapitalize="off"
      role="combobox" aria-expanded=${found !== null} aria-controls="filter-list" aria-label="Filter jobs" aria-invalid=${problem ? "true" : "false"}
      placeholder="state:dead kind:send_* error:Timeout* age:>1h   ( / )"
      onInput=${(event) => { set(event.currentTarget.value); complete(); }} onFocus=${complete} onKeyDown=${onKey} onBlur=${() => setTimeout(shut, 150)} />
    ${q && html`<button type="button" class="small quiet" onClick=${() => { set(""); apply(""); }}>Clear</button>`}
    ${found && html`<ul id="filter-list" class="offers" role="listbox">${found.candidates.map((one, index) => html`<li role="option" aria-selected=${index === at}
        class=${index === at ? "on" : ""} onMouseDown=${(event) => { event.preventDefault(); take(one); }}>
        <span class="mono">${typeof one === "string" ? one : one.text}</span><span class="faint">${typeof one === "string" ? "" : one.means}</span></li>`)}</ul>`}
    ${bad && html`<div class="filter-bad" role="alert"><pre class="mono">${q}${"\n"}${" ".repeat(bad.start)}${"^".repeat(Math.max(1, bad.end - bad.start))}</pre>
      <p>${bad.text}</p></div>`}
  </div>`;
}
