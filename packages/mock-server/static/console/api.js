/**
 * Calls the control API, and the public API where the console acts as a website; waits for what
 * receivers respond; reads and writes the address.
 */
import { formatNumber } from "@loyalty-cards/internal/format";
import { formatAddress } from "@loyalty-cards/internal/hostnames";
import { describeAttempt, isDelivered } from "./format.js";

/** An error response of the service. Without `status` it did not respond. */
export class ServiceError extends Error {
  /**
   * @param {{
   *   detail?: string, title?: string, status?: number, errors?: { detail: string }[],
   *   link?: { label: string, href: string }
   * }} problem `link` leads to what helps.
   */
  constructor({ detail, title, status, errors = [], link }) {
    super(errors.length > 0 ? errors.map((error) => error.detail).join(" ") : (detail ?? title));
    this.status = status;
    this.link = link;
  }
}

/**
 * @param {Record<string, string | number | undefined>} query empty values are left out.
 * @param {AbortSignal} [signal]
 */
export function get(path, query = {}, signal = undefined) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const parameters = new URLSearchParams(/** @type {any} */ (given));
  return send("GET", `_mock/${path}?${parameters}`, { signal });
}

/** @param {object} [body] */
export const control = (method, path, body) => send(method, `_mock/${path}`, { body });

/**
 * A call of the public API, as the server of a website makes it with the newest website key; the
 * log names the console.
 */
export async function callAsWebsite(method, path, body) {
  const { website } = (await get("settings")).apiKeys;
  const link = { label: "create one", href: "#/setup" };
  if (website === undefined) throw new ServiceError({ detail: "No website key:", link });
  const headers = { authorization: `Bearer ${website}`, "x-sent-by": "console" };
  return send(method, `api/v1/${path}`, { body, headers });
}

async function send(method, path, { body = undefined, headers = {}, signal = undefined }) {
  const response = await fetch(new URL(path, document.baseURI), {
    method,
    signal,
    headers: { ...headers, ...(body !== undefined && { "content-type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new ServiceError({
      detail: "No response: the service has stopped, or an injected fault closed the connection.",
    });
  });
  const content = parse(await response.text(), response);
  if (response.ok) return content;
  const { status } = response;
  const title = `The service responded ${status}.`; // Node responds 431 without a body
  throw new ServiceError({ title, ...content, status });
}

function parse(text, { status, url }) {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new ServiceError({
      detail: `Not JSON: status ${status} from ${url}. A proxy or another server responded.`,
    });
  }
}

const pauseMs = 150;
/**
 * The maximum number of reads; together they take longer than the ten seconds that a receiver has.
 */
const maxReads = 80;

/**
 * `POST /_mock/wait` cannot wait for an attempt: a delivery is still pending after a failed one.
 * @param isHeld whether a delivery has no attempt until the clock is moved: it is not waited for.
 * @returns the delivery, and its next attempt if that has ended.
 */
async function waitForAttempt({ id, attempts }, isHeld) {
  for (let reads = 1; ; reads += 1) {
    const delivery = await get(`webhooks/deliveries/${id}`);
    const attempt = delivery.attempts.slice(attempts.length).at(-1);
    if (attempt !== undefined || isHeld(delivery) || reads === maxReads)
      return { delivery, attempt };
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
  sayOutcome(say, text, deliveries).catch((error) => say(text, { failure: error.message }));
}

async function sayOutcome(say, text, deliveries) {
  const { mode, now } = await get("clock");
  const isHeld = ({ nextAttemptAt }) => mode === "manual" && nextAttemptAt > now;
  const results = await Promise.all(deliveries.map((delivery) => waitForAttempt(delivery, isHeld)));
  const waiting = results
    .filter(({ attempt }) => attempt === undefined)
    .map(({ delivery }) => `${delivery.type} ${isHeld(delivery) ? held : "has no response yet"}.`);
  const attempts = results
    .filter(({ attempt }) => attempt !== undefined)
    .map(({ delivery: { id: deliveryId, type, endpointId }, attempt }) => ({
      ...attempt,
      deliveryId,
      type,
      endpointId,
    }));
  const whole = [text, ...new Set(waiting)].join(" ");
  if (attempts.length === 0) say(whole);
  else await sayAttempts(say, whole, attempts);
}

const held = "waits for the clock, which stands still: press “Next attempt”";

/** The maximum number of attempts that a message names; more are only counted. */
const maxNamed = 4;

/**
 * Says apart which webhooks were delivered, with the failures before that, and which were not.
 * @param attempts in order of time; each has its `deliveryId`, `type` and `endpointId`.
 */
export async function sayAttempts(say, text, attempts) {
  const { items } = await get("webhooks/endpoints");
  const urls = new Map(items.map(({ id, url }) => [id, formatAddress(url)]));
  const deliveries = groupBy("deliveryId", attempts);
  const delivered = deliveries.filter((own) => isDelivered(own.at(-1))).flat();
  const failed = deliveries.filter((own) => !isDelivered(own.at(-1))).flat();
  if (attempts.length <= maxNamed) {
    const first = failed[0] ?? attempts[0];
    say([text, nameResults(delivered, urls)].filter(Boolean).join(" "), {
      failure: nameResults(failed, urls),
      link: { label: "open", href: address([], { open: first?.deliveryId ?? "" }) },
    });
    return;
  }
  const counts = countResults(attempts, urls);
  const link = { label: "Problems", href: address([], { problems: "true" }) };
  if (failed.length === 0) say(`${text} ${counts}. All webhooks are delivered.`);
  else say(text, { failure: counts, link });
}

const groupBy = (name, attempts) =>
  [...new Set(attempts.map((attempt) => attempt[name]))].map((value) =>
    attempts.filter((attempt) => attempt[name] === value),
  );

/** `balance.changed → 500 → 204, tier.changed → 204 at :3000/webhooks`, for each endpoint. */
function nameResults(attempts, urls) {
  const results = groupBy("endpointId", attempts).map((own) => {
    const named = groupBy("deliveryId", own).map(
      (each) => `${each[0].type} → ${countEqual(each.map(describeAttempt)).join(" → ")}`,
    );
    return `${countEqual(named).join(", ")} at ${urls.get(own[0].endpointId) ?? "a deleted endpoint"}`;
  });
  return results.join("; ");
}

/** `balance.changed → 401 ×4` */
const countEqual = (texts) =>
  [...new Set(texts)].map((text) => {
    const count = texts.filter((each) => each === text).length;
    return count === 1 ? text : `${text} ×${count}`;
  });

function countResults(attempts, urls) {
  const failed = attempts.filter((attempt) => !isDelivered(attempt));
  const counts = `${formatNumber(attempts.length)} attempts: ${formatNumber(attempts.length - failed.length)} delivered, ${formatNumber(failed.length)} failed`;
  const at = new Set(failed.map(({ endpointId }) => urls.get(endpointId)).filter(Boolean));
  return at.size === 0 ? counts : `${counts} at ${[...at].join(", ")}`;
}

/**
 * Runs an action on a card, and says what it did and what receivers responded to its events: those
 * that the staff caused since then, or this console with a request, and no other program.
 * @param action `describe` is called with the result of `act`.
 */
export async function sayResult(say, { cardId, act, describe }) {
  const [{ position: after } = { position: "" }] = (await get("traffic", { limit: 1 })).items;
  const text = describe(await act());
  const { items } = await get("traffic", { query: cardId, after });
  const causes = items
    .filter(({ kind, sentBy }) => kind === "action" || sentBy === "console")
    .map(({ id }) => id);
  const caused = items.filter(({ causeId }) => causes.includes(causeId)).reverse();
  const before = caused.map(({ id }) => ({ id, attempts: [] }));
  const link = { label: "Webhook endpoints", href: address(["setup"]) };
  if (before.length === 0) say(`${text} No endpoint gets an event.`, { link });
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
