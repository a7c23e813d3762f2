/** The service's time on this page: asked now and then, ticking on its own in between. */
import { get } from "./api.js";
import { durationText, timeText } from "./format.js";

let known = { nowMs: Date.now(), heardMs: performance.now(), factor: 1 };

export async function readClock() {
  const clock = await get("clock");
  const factor = { manual: 0, system: 1 }[clock.mode] ?? clock.factor ?? 1;
  known = { nowMs: Date.parse(clock.now), heardMs: performance.now(), factor };
  return clock;
}

export const serviceNowMs = () => known.nowMs + (performance.now() - known.heardMs) * known.factor;

/** "in 4 min 12 s", on the service's clock. */
export const untilText = (iso) => {
  const ms = Date.parse(iso) - serviceNowMs();
  return ms <= 0 ? "now" : `in ${durationText(ms)}`;
};

/** Keeps every time on the page that moves: `data-now`, and `data-until` a moment. */
export function tick() {
  for (const element of document.querySelectorAll("[data-now]")) {
    element.textContent = timeText(serviceNowMs());
  }
  for (const element of document.querySelectorAll("[data-until]")) {
    element.textContent = untilText(element.dataset.until);
  }
}
