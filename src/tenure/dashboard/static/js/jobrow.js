// One job as a compact row, the same on every page that lists jobs.
import { seconds, epoch, text } from "./format.js";
import { html } from "./lib.js";
import { JobLink, Progress, State, When } from "./parts.js";
import { exactly, jobsHref } from "./route.js";

export const HEAD = html`<th>Job</th><th>State</th><th>Kind</th><th>Queue</th><th class="r">Try</th><th>When</th><th class="r">Ran</th><th class="wide">What happened</th>`;

export function ran(row) {
  const began = epoch(row.started_at);
  if (began === null) return null;
  return (epoch(row.finished_at) ?? (row.state === "running" ? Date.now() / 1000 : null)) - began;
}

const lastTime = (row) => row.finished_at || (row.state === "running" ? row.started_at : row.state === "scheduled" ? row.run_at : row.created_at);

export function Cells({ row }) {
  const time = row.started_at && (row.finished_at || row.state === "running") ? ran(row) : null;
  return html`<td><${JobLink} id=${row.id} /></td><td><${State} of=${row.state} /></td>
    <td class="clip"><a href=${jobsHref(`kind:${exactly(text(row.kind))}`)}>${text(row.kind)}</a></td><td class="clip">${text(row.queue)}</td>
    <td class="r num">${row.attempt}/${row.max_attempts}</td><td class="num"><${When} at=${lastTime(row)} /></td><td class="r num">${time === null ? "" : seconds(time)}</td>
    <td class="wide clip">${row.error ? html`<span class="err">${text(row.error)}</span>` : row.state === "running" ? html`<${Progress} of=${row.progress} /> <span class="faint">${text(row.worker)}</span>` : ""} ${(row.tags || []).map((tag) => html`<span class="tag">${text(tag)}</span> `)}</td>`;
}

export const JobTable = ({ rows }) => html`<div class="scroll"><table class="jobs"><thead><tr>${HEAD}</tr></thead><tbody>${rows.map((row) => html`<tr key=${row.id}><${Cells} row=${row} /></tr>`)}</tbody></table></div>`;
