/** Receives the changes of the service. The visible tabs of a browser share one stream of server-sent events. */
import { controlUrl } from "./api.js";

/**
 * Names the stream, the lock of the tab that reads it, and the channel to the other tabs. Over HTTP/1.1 a browser opens at most
 * six connections to a server, and each stream occupies one: with a stream per tab, the seventh tab would wait for ever.
 */
const address = controlUrl("events").href;

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
  "request",
];
const pauseMs = 2000;

/** The functions to call at the next change of deliveries. */
const waiting = new Set();

/** Resolves when deliveries change. Call it before you read them, so that no change is missed. */
export const waitForDelivery = () => new Promise((resolve) => waiting.add(resolve));

/**
 * Receives changes while the tab is visible, and connects again after a disconnect.
 * @param onChange is called with the type of what changed, or undefined when anything may have changed.
 * @param onConnection is called with whether the service is connected.
 */
export function listen(onChange, onConnection) {
  const receive = (message) => {
    if (message === "delivery" || message === "hello") {
      for (const resolve of waiting) resolve(undefined);
      waiting.clear();
    }
    if (message === "hello") {
      onConnection(true);
      onChange(undefined); // changes before the connection, or while the tab was hidden, are not sent
    } else if (message === "error") onConnection(false);
    else if (message === "reset") onChange(undefined);
    else if (types.includes(message)) onChange(message);
  };
  let leave = () => {};
  const follow = () => {
    leave();
    leave = document.hidden ? () => {} : join(receive);
  };
  document.addEventListener("visibilitychange", follow);
  follow();
}

/**
 * The first tab reads the stream and sends each message to the others; when it leaves, the next one reads.
 * @returns a function that leaves.
 */
function join(receive) {
  const channel = new BroadcastChannel(address);
  const leaving = new AbortController();
  channel.addEventListener("message", ({ data }) => receive(data));
  channel.postMessage("join");
  const lead = () => readUntil(leaving.signal, channel, receive);
  // Absent when the page was opened over HTTP from another machine: then each visible tab reads a stream.
  if (navigator.locks === undefined) void lead();
  else navigator.locks.request(address, { signal: leaving.signal }, lead).catch(() => {}); // left while it waited
  return () => {
    leaving.abort();
    channel.close();
  };
}

/** Reads the stream until the signal is aborted. */
function readUntil(signal, channel, receive) {
  /** "hello" or "error", for a tab that joins. */
  let connection;
  let source;

  const send = (message) => {
    receive(message);
    channel.postMessage(message);
  };
  const open = () => {
    if (signal.aborted) return;
    source = new EventSource(address);
    for (const type of [...types, "reset"]) source.addEventListener(type, () => send(type));
    for (const type of ["hello", "error"]) {
      source.addEventListener(type, () => {
        connection = type;
        send(type);
        if (source.readyState === EventSource.CLOSED) setTimeout(open, pauseMs);
      });
    }
  };
  channel.addEventListener("message", ({ data }) => {
    if (data === "join" && connection !== undefined) channel.postMessage(connection);
  });
  open();
  return new Promise((resolve) => {
    const stop = () => {
      source?.close();
      resolve(undefined);
    };
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop);
  });
}
