/** Calls the control API, and the public API where the console acts as a website; receives the changes of the service; reads the page, filters and number in the address. */

const control = new URL("../_mock/", import.meta.url);
const publicApi = new URL("../api/v1/", import.meta.url);

/** An error response of the service, with its message. */
export class RequestError extends Error {
  constructor(problem) {
    super(problem.detail ?? problem.title ?? "The service responded with an error.");
    /** `[{ pointer, detail }]` of the invalid members. */
    this.errors = problem.errors ?? [];
    this.status = problem.status;
  }
}

export function controlUrl(path, query = {}) {
  const url = new URL(path, control);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") url.searchParams.set(name, value);
  }
  return url;
}

export const get = (path, query) => send("GET", controlUrl(path, query));

/** Reads the page of a list that `state.offset` names, or the last page when the list is shorter. */
export async function getPage(path, state, query) {
  const read = () => get(path, { ...query, offset: state.offset, limit: pageSize });
  const list = await read();
  if (list.items.length > 0 || list.total === 0) return list;
  state.offset = Math.floor((list.total - 1) / pageSize) * pageSize;
  return read();
}

export const post = (path, body) => send("POST", controlUrl(path), body);
export const put = (path, body) => send("PUT", controlUrl(path), body);
export const update = (path, body) => send("PATCH", controlUrl(path), body);
export const remove = (path) => send("DELETE", controlUrl(path));

/** A call of the public API, as the server of a website makes it. */
export const callAsWebsite = (method, path, apiKey, body) =>
  send(method, new URL(path, publicApi), body, { authorization: `Bearer ${apiKey}` });

async function send(method, url, body, headers = {}) {
  const response = await fetch(url, {
    method,
    headers: { ...headers, ...(body !== undefined && { "content-type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new RequestError({ detail: "The service does not respond. Is it still running?" });
  });
  const text = await response.text();
  const content = text === "" ? undefined : parse(text);
  if (!response.ok) throw new RequestError({ status: response.status, ...content });
  return content;
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return { detail: text.slice(0, 200) };
  }
}

/** The number of items on a page of a list. */
export const pageSize = 20;

/** @returns the page's name, the id in the address, and its parameters; `offset` is the position of the page in its list. */
export function readAddress() {
  const [place = "", search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name = "", id = ""] = place.split("/").map(decoded);
  const { page, ...filters } = Object.fromEntries(new URLSearchParams(search));
  const number = /^[1-9]\d{0,8}$/.test(page ?? "") ? Number(page) : 1;
  return { name, id, filters, offset: (number - 1) * pageSize };
}

/** The address of the open page with other parameters; an empty value removes a parameter. */
export function addressWith(parameters) {
  const [place, search] = location.hash.split("?");
  const all = new URLSearchParams(search);
  for (const [name, value] of Object.entries(parameters)) {
    if (value === "") all.delete(name);
    else all.set(name, value);
  }
  return all.size === 0 ? place : `${place}?${all}`;
}

/** Returns an empty string for invalid percent-encoding, so that the first page opens. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

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
