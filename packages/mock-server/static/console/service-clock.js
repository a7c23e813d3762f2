/** The service's time on this page: read when the clock changes, computed in the browser in between. */
import { get } from "./api.js";
import { h } from "./dom.js";
import { dateTimeText, durationText, fullTimeText, timeText } from "./format.js";

let known = { nowMs: Date.now(), readMs: performance.now(), factor: 1 };

export async function readClock() {
  const clock = await get("clock");
  const factor = { manual: 0, system: 1 }[clock.mode] ?? clock.factor ?? 1;
  known = { nowMs: Date.parse(clock.now), readMs: performance.now(), factor };
  return clock;
}

export const serviceNowMs = () => known.nowMs + (performance.now() - known.readMs) * known.factor;

/** "in 4 min 12 s", on the service's clock. */
export const untilText = (iso) => {
  const ms = Date.parse(iso) - serviceNowMs();
  return ms <= 0 ? "now" : `in ${durationText(ms)}`;
};

/** A time on the page: without the date on the service's current day, and complete in the title. */
export const timeElement = (iso) =>
  h("time", { datetime: iso, title: fullTimeText(iso) }, timeText(iso, serviceNowMs()));

/** Updates the current time (`data-now`), the time until a moment (`data-until`), and whether times show their date. */
export function tick() {
  const nowMs = serviceNowMs();
  for (const element of document.querySelectorAll("[data-now]")) setText(element, dateTimeText(nowMs));
  for (const element of document.querySelectorAll("[data-until]")) {
    setText(element, untilText(element.getAttribute("data-until")));
  }
  for (const element of document.querySelectorAll("time")) {
    setText(element, timeText(element.dateTime, nowMs));
  }
}

/** Leaves an element alone that has the text already: a selection in it would be lost. */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
