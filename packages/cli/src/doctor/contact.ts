/** Whether a service responds at the address, and whether its clock agrees with the one of this machine. */
import { randomUUID } from "node:crypto";
import { readBounded } from "@loyalty-cards/internal/bounded-body";
import { isLoopback } from "@loyalty-cards/internal/hostnames";
import type { Context } from "../command.ts";
import { exitCodes } from "../command-error.ts";
import { failed, passed, type Result, skipped, warning } from "./result.ts";

interface Contact {
  result: Result;
  /** The service's clock and ours, in milliseconds; undefined when there was no response. */
  dates?: { service: number; own: number };
}

const fixes: Readonly<Record<string, string>> = {
  ECONNREFUSED:
    "Is the service running, and is the port correct? `loyalty-cards dev` starts one on this machine.",
  ENOTFOUND: "Is the name in the address correct?",
  EAI_AGAIN: "The name could not be looked up: is this machine connected?",
};

/** Reads the reference, which needs no key ([spec 4.6](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-6)). */
export async function contactService(
  baseUrl: string,
  { timeoutMs, environment }: Pick<Context, "timeoutMs" | "environment">,
): Promise<Contact> {
  try {
    const startedMs = Date.now();
    const reference = await send(`${baseUrl}/api/docs/json`, timeoutMs);
    const endedMs = Date.now();
    // A service may require a login for its reference, or have none.
    const isSuspect = findOtherServer(reference) !== undefined;
    const other = isSuspect ? findOtherServer(await readUnknownCard(baseUrl, timeoutMs)) : undefined;
    if (other !== undefined) return { result: other };
    const service = Date.parse(reference.headers.get("date") ?? "");
    // The service writes the date between both times, and drops the milliseconds.
    const dates = { service: service + 500, own: (startedMs + endedMs) / 2 };
    return { result: passed(`responds in ${endedMs - startedMs} ms`), dates };
  } catch (error) {
    const result = describeNoResponse(getFetchFailure(error) ?? (error as Error).name, baseUrl);
    const hint = getProxyHint(baseUrl, environment);
    return { result: hint === undefined ? result : { ...result, fix: `${result.fix} ${hint}` } };
  }
}

/** Node.js uses the proxy of the environment only when it is told to. @returns undefined when that is not the cause. */
function getProxyHint(baseUrl: string, environment: Context["environment"]): string | undefined {
  const { protocol, hostname } = new URL(baseUrl);
  const name = `${protocol.slice(0, -1)}_proxy`;
  const variable = [name, name.toUpperCase()].find((each) => environment[each]);
  if (variable === undefined || isLoopback(hostname) || environment["NODE_USE_ENV_PROXY"] === "1")
    return undefined;
  return `${variable} is set, but Node.js does not use this proxy: set NODE_USE_ENV_PROXY=1 (Node.js 22.21, 24 or newer), for your program too.`;
}

/** Codes of a connection that did not speak HTTP: the port or the scheme is wrong. */
const wrongProtocol = /^EPROTO$|^ERR_SSL_(?!.*ALERT)|^HPE_|^HTTPParserError$/;
const closedCodes: readonly string[] = ["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"];

function describeNoResponse(code: string, baseUrl: string): Result {
  const isHttps = baseUrl.startsWith("https:");
  if (wrongProtocol.test(code)) {
    const fix = isHttps
      ? "Correct the port of the address. A service on this machine, such as that of `loyalty-cards dev`, has an address with http://."
      : "Correct the port of the address: a program that is not a web server listens there.";
    const detail = `the port does not speak ${isHttps ? "https" : "http"} (${code})`;
    return { ...failed(detail, fix), exitCode: exitCodes.usage };
  }
  if (closedCodes.includes(code)) {
    const fix = isHttps
      ? "Does this port speak https? Otherwise see the log of the service."
      : "If this port speaks https, write https:// in the address. Otherwise see the log of the service.";
    return failed(`closes the connection without a response (${code})`, fix);
  }
  const fix = /CERT|SELF_SIGNED|UNABLE_TO_|TLS|ALERT/.test(code)
    ? "Its certificate is not valid for this machine: set NODE_EXTRA_CA_CERTS for a private authority."
    : (fixes[code] ?? "Do the address, a proxy and the firewall permit the connection?");
  return failed(`does not respond (${code})`, fix);
}

/** Recognizes the response of another server. @returns undefined when the response can be that of the service. */
export function findOtherServer({ status, headers, url, bytes }: Received): Result | undefined {
  if (status >= 300 && status < 400) {
    const { origin } = new URL(url);
    const location = headers.get("location") ?? "";
    // Only the origin: the rest can contain a token.
    const target = URL.canParse(location, url) ? new URL(location, url).origin : "another address";
    const fix =
      target === origin
        ? "Is the path of the address correct, and does no proxy ask for a login? The client follows no redirects."
        : `If that is your service, set the address to ${target}: the client follows no redirects.`;
    return failed(`it redirects (${status}) to ${target}`, fix);
  }
  if (status !== 404 || isProblem(bytes)) return undefined;
  return failed(
    "another server responded at this address (404 without problem details)",
    "Correct the address: it is the one before /api/v1.",
  ); // spec 7
}

/** The code of a failed `fetch`; undefined for an error of another kind. */
export function getFetchFailure(error: unknown): string | undefined {
  const { name, cause } = error as { name?: string; cause?: { name?: string; code?: string } };
  // From Node 24 on, the error of a response that is not HTTP has no code.
  if (cause?.name === "HTTPParserError") return cause.code ?? cause.name;
  return cause?.code ?? (name === "TimeoutError" ? name : undefined);
}

/** A response to a request without the key. */
interface Received {
  status: number;
  headers: Headers;
  url: string;
  /** The body, when it has the status that the caller reads. */
  bytes: Uint8Array | undefined;
}

/** A request is sent again when its connection was closed: the service may have restarted. */
const maxAttempts = 3;
const problem = { status: 404, maxBytes: 65_536 };
const document = { status: 200, maxBytes: 4 * 1024 * 1024 };

/** @param read which responses are read, up to which size. */
async function send(url: string, timeoutMs: number, read = problem, attempt = 1): Promise<Received> {
  try {
    const { status, headers, body } = await fetch(url, {
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
    });
    const isRead = status === read.status && body !== null;
    if (!isRead) await body?.cancel();
    return { status, headers, url, bytes: isRead ? await readBounded(body, read.maxBytes) : undefined };
  } catch (error) {
    const isClosed = closedCodes.includes(getFetchFailure(error) ?? "");
    if (!isClosed || attempt === maxAttempts) throw error;
    return send(url, timeoutMs, read, attempt + 1);
  }
}

/** Whether the body is problem details (RFC 9457). */
function isProblem(bytes: Uint8Array | undefined): boolean {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes ?? []).toString("utf8"));
    const members = ["type", "title", "status", "detail"];
    return typeof value === "object" && value !== null && members.some((name) => name in value);
  } catch {
    return false;
  }
}

export const readDocument = (url: string, timeoutMs: number) => send(url, timeoutMs, document);

export const readUnknownCard = (baseUrl: string, timeoutMs: number) =>
  send(`${baseUrl}/api/v1/passes/doctor-${randomUUID()}`, timeoutMs);

/**
 * A receiver rejects deliveries beyond this difference ([spec 8](https://loyalty-cards.github.io/loyalty-cards/specification#spec-8)); the `Date` header has a
 * resolution of one second.
 */
const toleranceSeconds = 300;
const noticeableSeconds = 30;

export function checkClock({ service, own }: { service: number; own: number }): Result {
  if (Number.isNaN(service)) return skipped("the service sends no Date header");
  const seconds = Math.round((own - service) / 1000);
  if (Math.abs(seconds) <= noticeableSeconds) return passed("agrees with the service");
  const detail = `this machine is ${Math.abs(seconds)} s ${seconds > 0 ? "ahead of" : "behind"} the service`;
  const fix = "Synchronize the clock of this machine (NTP).";
  return Math.abs(seconds) < toleranceSeconds
    ? warning(detail, fix)
    : failed(detail, `${fix} A receiver here rejects every webhook.`);
}
