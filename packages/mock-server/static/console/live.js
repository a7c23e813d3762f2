/** Hears from the service what has changed, and connects again when it was cut off. */
import { controlUrl } from "./api.js";

const types = [
  "apiKey",
  "template",
  "customer",
  "card",
  "operation",
  "endpoint",
  "delivery",
  "clock",
  "fault",
];
const pauseMs = 2000;

/**
 * @param onChange is told the type of what changed, or undefined when it may be anything.
 * @param onConnection is told whether the service is there.
 */
export function listen(onChange, onConnection) {
  const source = new EventSource(controlUrl("events"));
  for (const type of types) source.addEventListener(type, () => onChange(type));
  source.addEventListener("reset", () => onChange(undefined));
  source.addEventListener("hello", () => {
    onConnection(true);
    onChange(undefined); // what happened before is not told
  });
  source.addEventListener("error", () => {
    onConnection(false);
    if (source.readyState !== EventSource.CLOSED) return;
    setTimeout(() => listen(onChange, onConnection), pauseMs);
  });
}
