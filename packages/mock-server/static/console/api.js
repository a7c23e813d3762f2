/** Calls the control API, and the public API where the console acts as a website; waits for what receivers respond; reads and writes the address. */
import { describeAttempt, isDelivered } from "./format.js";

/** An error response of the service. Without `status` there was no response. */
export class ServiceError extends Error {
  /** @param {{ detail?: string, title?: string, status?: number, errors?: { detail: string }[] }} problem */
  constructor({ detail, title, status, errors = [] }) {
    super(errors.length > 0 ? errors.map((error) => error.detail).join(" ") : (detail ?? title));
    this.status = status;
  }
}

/** @param {Record<string, string | number | undefined>} query empty values are left out. */
export function get(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  return send("GET", `_mock/${path}?${new URLSearchParams(/** @type {any} */ (given))}`);
}

/** @param {object} [body] */
export const control = (method, path, body) => send(method, `_mock/${path}`, body);

/** A call of the public API, as the server of a website makes it. */
export const callAsWebsite = (method, path, apiKey, body) =>
  send(method, `api/v1/${path}`, body, { authorization: `Bearer ${apiKey}` });

async function send(method, path, body = undefined, headers = {}) {
  const response = await fetch(new URL(path, document.baseURI), {
    method,
    headers: { ...headers, ...(body !== undefined && { "content-type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new ServiceError({
      detail: "No response: the service has stopped, or an injected fault closed the connection.",
    });
  });
  const text = await response.text();
  const content = text === "" ? undefined : JSON.parse(text);
  if (!response.ok) throw new ServiceError({ ...content, status: response.status });
  return content;
}

const pauseMs = 150;
/** More than the ten seconds that a receiver has. */
const maxReads = 80;

/** @returns the delivery after its next attempt. `POST /_mock/wait` cannot wait for that: after a failed attempt it is still pending. */
async function waitForAttempt({ id, attempts }) {
  for (let reads = 1; ; reads += 1) {
    const delivery = await get(`webhooks/deliveries/${id}`);
    if (delivery.attempts.length > attempts.length || reads === maxReads) return delivery;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/**
 * Says what an action did, and later what the receivers responded; it does not wait for them.
 * @param say shows a message, or replaces the one before.
 * @param deliveries as they were before the attempts that the text is about.
 */
export function sayResponses(say, text, deliveries) {
  say(text);
  Promise.all(deliveries.map(waitForAttempt)).then(
    (sent) => {
      const attempts = sent.map(({ id, type, attempts }) => ({ ...attempts.at(-1), deliveryId: id, type }));
      sayAttempts(say, text, attempts);
    },
    (error) => say(`${text} ${error.message}`, { isError: true }),
  );
}

/** @param attempts of which each has its `deliveryId` and `type`. */
export function sayAttempts(say, text, attempts) {
  const failed = attempts.filter((attempt) => !isDelivered(attempt));
  const isShort = attempts.length <= 4;
  const results = isShort
    ? attempts.map((attempt) => `${attempt.type} → ${describeAttempt(attempt)}`).join(", ")
    : `${attempts.length} attempts: ${attempts.length - failed.length} delivered, ${failed.length} failed`;
  say(`${text} ${results}`, { isError: failed.length > 0, open: (failed[0] ?? attempts[0])?.deliveryId });
}

/** Runs an action that emits events, and says what it did and what the receivers responded. @param describe is called with its result. */
export async function sayResult(say, act, describe) {
  const list = () => get("traffic", { kind: "delivery", limit: 50 });
  const earlier = new Set((await list()).items.map(({ id }) => id));
  const text = describe(await act());
  const caused = (await list()).items.filter(({ id }) => !earlier.has(id)).reverse();
  const before = caused.map(({ id }) => ({ id, attempts: [] }));
  if (before.length === 0) say(`${text} No endpoint gets an event.`);
  else sayResponses(say, text, before);
}

/** @returns the view, the id in it, and the parameters: `#/cards/card_1?query=Anna`. */
export function readAddress() {
  const [path = "", search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [view = "", id = ""] = path.split("/");
  return { view, id, parameters: Object.fromEntries(new URLSearchParams(search)) };
}

/** The address of the open view with other parameters; an empty value removes one. */
export function addressWith(changes) {
  const { view, id, parameters } = readAddress();
  return address([view, id], { ...parameters, ...changes });
}

export function address(path, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "");
  const search = given.length > 0 ? `?${new URLSearchParams(/** @type {any} */ (given))}` : "";
  return `#/${path.filter(Boolean).join("/")}${search}`;
}
