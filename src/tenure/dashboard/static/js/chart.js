// One chart over time (uPlot). It is built anew when the theme or the set of lines changes; data alone is handed over.
import uPlot from "../vendor/uplot.js";
import { html, useEffect, useRef, useState } from "./lib.js";
import { colour } from "./theme.js";

const HEIGHT = 170;
const two = (n) => String(n).padStart(2, "0");

function clock(at, step) {
  const d = new Date(at * 1000);
  return step >= 86400 ? `${two(d.getMonth() + 1)}-${two(d.getDate())}` : `${two(d.getHours())}:${two(d.getMinutes())}`;
}

function options(lines, width, format) {
  const axis = { stroke: colour("faint"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
  return {
    width, height: HEIGHT, padding: [10, 20, 0, 0], legend: { show: true, live: true }, cursor: { y: false, points: { size: 6 } },
    scales: { x: { time: true }, y: { range: (_, low, high) => [0, high > 0 ? high * 1.08 : 1] } },
    axes: [{ ...axis, space: 48, values: (_, ticks, __, ___, step) => ticks.map((tick) => clock(tick, step)) }, { ...axis, size: 62, values: (_, ticks) => ticks.map((tick) => (tick === 0 ? "0" : format(tick))) }],
    series: [
      { label: "time", value: (_, at) => (at === null ? "–" : clock(at, 1)) },
      ...lines.map((line) => ({
        label: line.label, stroke: colour(line.colour), width: 1.5, fill: line.fill ? `${colour(line.colour)}22` : undefined, points: { size: 4, show: (plot, at) => plot.data[at].filter((value) => value !== null).length < 40 },
        value: (_, value) => (value === null || value === undefined ? "–" : format(value)), spanGaps: false,
      })),
    ],
  };
}

export function Chart({ title, times, lines, format, label }) {
  const place = useRef(null);
  const chart = useRef(null);
  const [theme, turned] = useState(0);
  useEffect(() => {
    const turn = () => turned((n) => n + 1);
    window.addEventListener("theme", turn);
    return () => window.removeEventListener("theme", turn);
  }, []);
  const data = [times, ...lines.map((line) => line.values)];
  const latest = useRef(data);
  latest.current = data;
  useEffect(() => {
    const made = new uPlot(options(lines, place.current.clientWidth || 300, format), latest.current, place.current);
    chart.current = made;
    const sizing = new ResizeObserver(() => place.current && made.setSize({ width: place.current.clientWidth, height: HEIGHT }));
    sizing.observe(place.current);
    return () => { sizing.disconnect(); made.destroy(); };
  }, [theme, lines.map((line) => line.label).join()]);
  useEffect(() => { if (chart.current) chart.current.setData(latest.current); }, [times, ...lines.map((line) => line.values)]);
  return html`<section class="panel chart"><header class="panel-head"><h2>${title}</h2></header><div class="plot" role="img" aria-label=${label} ref=${place}></div></section>`;
}
