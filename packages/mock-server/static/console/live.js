/** Receives the changes of the service as server-sent events, and connects again after a disconnect. */
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
  "warning",
];
const pauseMs = 2000;

/**
 * @param onChange is called with the type of what changed, or undefined when anything may have changed.
 * @param onConnection is called with whether the service is connected.
 */
export function listen(onChange, onConnection) {
  const source = new EventSource(controlUrl("events"));
  for (const type of types) source.addEventListener(type, () => onChange(type));
  source.addEventListener("reset", () => onChange(undefined));
  source.addEventListener("hello", () => {
    onConnection(true);
    onChange(undefined); // changes before the connection are not sent
  });
  source.addEventListener("error", () => {
    onConnection(false);
    if (source.readyState !== EventSource.CLOSED) return;
    setTimeout(() => listen(onChange, onConnection), pauseMs);
  });
}
