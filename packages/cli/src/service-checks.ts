/** The checks of `doctor`. Each one sends only requests that change nothing, and says how to fix what it finds. */
import { randomUUID } from "node:crypto";
import { readBounded } from "@loyalty-cards/internal/bounded-body";
import { type IssuingClient, isIssuingError } from "@loyalty-cards/issuing-client";
import type { Context } from "./command.ts";
import { CommandError, exitCodes } from "./command-error.ts";
import { compareWithService } from "./commands/drift.ts";
import { describeMismatch, mismatchAdvice, readApiKey, readBaseUrl, readNamespace } from "./configuration.ts";

export interface Check {
  name: string;
  status: "passed" | "warning" | "failed" | "skipped";
  /** What was found. */
  detail: string;
  fix?: string;
  /** Of the command when this check failed; default 1. */
  exitCode?: number;
}

type Result = Omit<Check, "name">;

const passed = (detail: string): Result => ({ status: "passed", detail });
const warning = (detail: string, fix: string): Result => ({ status: "warning", detail, fix });
const failed = (detail: string, fix: string): Result => ({ status: "failed", detail, fix });
const skipped = (detail: string): Result => ({ status: "skipped", detail });

/** A receiver rejects deliveries beyond this difference (spec 8); the `Date` header has a resolution of one second. */
const toleranceSeconds = 300;
const noticeableSeconds = 30;

const names = [
  "address",
  "API key",
  "namespace",
  "service",
  "clock",
  "contract",
  "key accepted",
  "template",
] as const;

/** @param templateId undefined when there is none to check. */
export async function checkService(context: Context, templateId: string | undefined): Promise<Check[]> {
  const { timeoutMs } = context;
  const results: Partial<Record<(typeof names)[number], Result>> = {};
  /** The remaining checks are skipped for this reason. */
  const complete = (reason: string) => names.map((name) => ({ name, ...(results[name] ?? skipped(reason)) }));

  const [address, baseUrl] = await checkAddress(context);
  results.address = address;
  results.namespace = checkNamespace(context);
  const mismatch = describeMismatch(context.globals.baseUrl, context.sources);
  if (mismatch !== undefined) {
    results["API key"] = { ...failed(mismatch, mismatchAdvice), exitCode: exitCodes.usage };
    return complete("nothing is sent to an address that the key may not be for");
  }
  const [key, apiKey] = checkKey(context);
  results["API key"] = key;
  if (baseUrl === undefined) return complete("there is no valid address");
  const { result, dates } = await contactService(baseUrl, timeoutMs);
  results.service = result;
  if (dates === undefined) return complete("the address is not that of a service that responds");
  results.clock = checkClock(dates);
  results.contract = await checkContract(baseUrl, timeoutMs);
  if (apiKey === undefined) return complete("there is no API key");
  let client: IssuingClient;
  try {
    client = await context.createClient({ apiKey });
  } catch (error) {
    results["API key"] = toFailure(error); // such as a character that a header cannot contain
    return complete("there is no valid API key");
  }
  const accepted = await toResult(() => checkKeyIsAccepted(client, baseUrl, timeoutMs));
  results["key accepted"] = accepted;
  if (accepted.status === "failed") return complete("the API key is not accepted");
  results.template = await toResult(() => checkTemplate(client, templateId));
  return complete("");
}

async function checkAddress(context: Context): Promise<[Result, string | undefined]> {
  const { environment, globals, terminal } = context;
  try {
    const baseUrl = readBaseUrl(globals.baseUrl, environment);
    await context.createClient({ apiKey: "checked-separately" }); // validates it
    const source = globals.baseUrl === undefined ? describeSource("LOYALTY_URL", terminal.env) : "--base-url";
    return [passed(`${baseUrl} (${source})`), baseUrl.replace(/\/+$/, "")];
  } catch (error) {
    return [toFailure(error), undefined];
  }
}

function checkKey({ environment, sources, terminal }: Context): [Result, string | undefined] {
  try {
    const apiKey = readApiKey(sources);
    const name = environment.LOYALTY_API_KEY ? "LOYALTY_API_KEY" : "LOYALTY_API_KEY_COMMAND";
    return [passed(`present (${describeSource(name, terminal.env)})`), apiKey];
  } catch (error) {
    return [toFailure(error), undefined];
  }
}

/** Two programs with different namespaces issue two cards to one user. */
function checkNamespace({ environment, terminal }: Context): Result {
  const name = "LOYALTY_IDEMPOTENCY_NAMESPACE";
  try {
    const namespace = readNamespace(environment);
    return passed(
      namespace === ""
        ? `none (${name} is not set)`
        : `${JSON.stringify(namespace)} (${describeSource(name, terminal.env)})`,
    );
  } catch (error) {
    return toFailure(error);
  }
}

const describeSource = (name: string, env: Context["terminal"]["env"]) =>
  env[name] === undefined ? `${name} in .env` : name;

/** Our messages are "what is wrong: what to do", or two sentences. */
function toFailure(error: unknown): Result {
  if (!(error instanceof CommandError) && !isIssuingError(error)) throw error;
  const [, detail = error.message, fix = ""] = /^(.+?[^.:])[.:] (.+)$/s.exec(error.message) ?? [];
  return failed(detail, fix.charAt(0).toUpperCase() + fix.slice(1));
}

async function toResult(check: () => Promise<Result>): Promise<Result> {
  try {
    return await check();
  } catch (error) {
    const code = isIssuingError(error) ? undefined : getFetchFailure(error);
    return code === undefined
      ? toFailure(error)
      : failed(`the service stopped responding (${code})`, "Run doctor again.");
  }
}

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

/** Reads the reference, which needs no key (spec 4.6). */
async function contactService(baseUrl: string, timeoutMs: number): Promise<Contact> {
  try {
    const startedMs = Date.now();
    const reference = await send(`${baseUrl}/api/docs/json`, timeoutMs);
    const endedMs = Date.now();
    // A service can have its reference behind a login, or none at all.
    const isSuspect = findOtherServer(reference) !== undefined;
    const other = isSuspect ? findOtherServer(await readUnknownCard(baseUrl, timeoutMs)) : undefined;
    if (other !== undefined) return { result: other };
    const service = Date.parse(reference.headers.get("date") ?? "");
    // The service writes the date between both times, and drops the milliseconds.
    const dates = { service: service + 500, own: (startedMs + endedMs) / 2 };
    return { result: passed(`responds in ${endedMs - startedMs} ms`), dates };
  } catch (error) {
    return { result: describeNoResponse(getFetchFailure(error) ?? (error as Error).name, baseUrl) };
  }
}

/** A connection that never spoke HTTP: with another port or scheme it may. */
const wrongProtocol = /^EPROTO$|^ERR_SSL_(?!.*ALERT)|^HPE_/;
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

/** What shows that the address is not that of the service. */
function findOtherServer({ status, headers, url, hasProblem }: Received): Result | undefined {
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
  if (status !== 404 || hasProblem) return undefined;
  return failed(
    "another server responded at this address (404 without problem details)",
    "Correct the address: it is the one before /api/v1.",
  ); // spec 7
}

/** The code of a request of `send` that failed; undefined for another error. */
function getFetchFailure(error: unknown): string | undefined {
  const { name, cause } = error as { name?: string; cause?: { code?: string } };
  return cause?.code ?? (name === "TimeoutError" ? name : undefined);
}

/** A response to a request without the key. */
interface Received {
  status: number;
  headers: Headers;
  url: string;
  /** Whether the body is problem details (RFC 9457). */
  hasProblem: boolean;
}

/** A connection that was closed is tried again: the service may have restarted. */
const maxAttempts = 3;
const maxProblemBytes = 65_536;

async function send(url: string, timeoutMs: number, attempt = 1): Promise<Received> {
  try {
    const { status, headers, body } = await fetch(url, {
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
    });
    const isRead = status === 404 && body !== null;
    if (!isRead) await body?.cancel();
    const bytes = isRead ? await readBounded(body, maxProblemBytes) : undefined;
    return { status, headers, url, hasProblem: isProblem(bytes) };
  } catch (error) {
    const isClosed = closedCodes.includes(getFetchFailure(error) ?? "");
    if (!isClosed || attempt === maxAttempts) throw error;
    return send(url, timeoutMs, attempt + 1);
  }
}

function isProblem(bytes: Uint8Array | undefined): boolean {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes ?? []).toString("utf8"));
    const members = ["type", "title", "status", "detail"];
    return typeof value === "object" && value !== null && members.some((name) => name in value);
  } catch {
    return false;
  }
}

const readUnknownCard = (baseUrl: string, timeoutMs: number) =>
  send(`${baseUrl}/api/v1/passes/doctor-${randomUUID()}`, timeoutMs);

function checkClock({ service, own }: { service: number; own: number }): Result {
  if (Number.isNaN(service)) return skipped("the service sends no Date header");
  const seconds = Math.round((own - service) / 1000);
  if (Math.abs(seconds) <= noticeableSeconds) return passed("agrees with the service");
  const detail = `this machine is ${Math.abs(seconds)} s ${seconds > 0 ? "ahead of" : "behind"} the service`;
  const fix = "Synchronize the clock of this machine (NTP).";
  return Math.abs(seconds) < toleranceSeconds
    ? warning(detail, fix)
    : failed(detail, `${fix} A receiver here rejects every webhook.`);
}

/**
 * Reads a card that does not exist. The specification does not name the statuses of a wrong key and of an unknown card, so the
 * response is compared with that to a request without a key.
 */
async function checkKeyIsAccepted(
  client: IssuingClient,
  baseUrl: string,
  timeoutMs: number,
): Promise<Result> {
  const withoutKey = await readUnknownCard(baseUrl, timeoutMs);
  const other = findOtherServer(withoutKey);
  if (other !== undefined) return other;
  const id = `doctor-${randomUUID()}`;
  const { response } = await client.api.GET("/passes/{id}", { params: { path: { id } } });
  const { status } = response;
  if (status === 401 || status === 403) {
    const fix =
      "Is the key complete, not revoked, and of this service? The console creates new ones (API & webhooks).";
    return { ...failed(`the service responded ${status}`, fix), exitCode: exitCodes.keyRefused };
  }
  if (status >= 500) return failed(`the service responded ${status}`, "Run doctor again later.");
  if (withoutKey.status === status) {
    return warning(
      `the service responds ${status} with and without the key`,
      "Run `loyalty-cards card ID` with the id of a card that exists.",
    );
  }
  return passed("its kind, Website or Full, is visible only in the console");
}

/** The specification promises a 422 for a malformed phone or email (spec 4.1), so the service issues no card for this. */
const invalidRequest = { customer: { phone: "not-a-number", email: "not-an-email" } };

async function checkTemplate(client: IssuingClient, templateId: string | undefined): Promise<Result> {
  if (templateId === undefined)
    return skipped("use --template or set LOYALTY_TEMPLATE_ID to check that it exists");
  const post = async (id: string) => {
    const { response } = await client.api.POST("/templates/{templateId}/passes", {
      params: { path: { templateId: id } },
      body: invalidRequest as never,
    });
    return response.status;
  };
  // First a template that cannot exist: a service may validate the customer before it looks for the template.
  const unknown = await post(`doctor-${randomUUID()}`);
  if (unknown < 400)
    return warning(`the service accepted an unknown template (${unknown})`, "It validates no templates.");
  const status = await post(templateId);
  if (status < 400)
    return failed(
      `the service issued a card to an invalid customer (${status})`,
      "Delete it in the console.",
    );
  if (status === 404 || status === 410) {
    return failed(
      `${JSON.stringify(templateId)} does not exist or is archived`,
      "Copy the id of a template from the console.",
    );
  }
  if (status === 401 || status === 403)
    return failed(`the key may not issue cards (${status})`, "Use a Website or Full key.");
  return status === unknown
    ? warning(
        `the service responds ${status} for an unknown template too`,
        "Issue a test card to check it: `loyalty-cards issue --help`.",
      )
    : passed(`${templateId} exists`);
}

async function checkContract(baseUrl: string, timeoutMs: number): Promise<Result> {
  try {
    const { differences } = await compareWithService(baseUrl, timeoutMs);
    if (differences.length === 0) return passed("no differences");
    const breaking = differences.filter(({ severity }) => severity === "breaking").length;
    if (breaking === 0) return passed(`compatible differences: ${differences.length}`);
    const fix = "`loyalty-cards drift` prints them with their reasons.";
    return failed(`breaking differences: ${breaking}`, fix);
  } catch (error) {
    const { detail, fix } = toFailure(error);
    return warning(detail, fix || "Is the path of the address correct?");
  }
}
