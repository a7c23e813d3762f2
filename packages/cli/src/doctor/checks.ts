/**
 * The checks of `doctor`, in their order. Each one sends only requests that change nothing, and
 * says how to fix what it finds.
 */
import { randomUUID } from "node:crypto";
import { readBounded } from "@loyalty-cards/internal/bounded-body";
import { formatErrorLink, removeErrorLink } from "@loyalty-cards/internal/errors";
import { isLoopback } from "@loyalty-cards/internal/hostnames";
import { describeNoResponse } from "@loyalty-cards/internal/receiver-advice";
import { type IssuingClient, isIssuingError } from "@loyalty-cards/issuing-client";
import { operations } from "@loyalty-cards/openapi/operations";
import type { Context } from "../command.ts";
import { CommandError, exitCodes } from "../command-error.ts";
import { readApiKey, readBaseUrl, requireKeyOfAddress } from "../configuration.ts";

interface CheckResult<Value = undefined> {
  status: "passed" | "warning" | "failed" | "skipped";
  /** What was found. */
  detail: string;
  fix?: string;
  /** The exit code of the command when this check failed; default 1. */
  exitCode?: number;
  /** What later checks need. */
  value?: Value;
}

export interface ServiceCheck extends Omit<CheckResult, "value"> {
  name: string;
  /** Why the check was skipped: it needs this. */
  missing?: string;
}

type RunCheck<Value> = () => CheckResult<Value> | Promise<CheckResult<Value>>;

const passed = <Value = undefined>(detail: string, value?: Value): CheckResult<Value> => ({
  status: "passed",
  detail,
  ...(value !== undefined && { value }),
});
const warning = (detail: string, fix: string) => ({ status: "warning", detail, fix }) as const;
const failed = (detail: string, fix: string) => ({ status: "failed", detail, fix }) as const;

/** In the order in which they run and are printed. */
const names = ["address", "API key", "service", "clock", "contract", "access", "template"] as const;

/** @param templateId undefined when there is none to check. */
export async function checkService(
  context: Context,
  templateId: string | undefined,
): Promise<ServiceCheck[]> {
  const done: ServiceCheck[] = [];
  async function run<Value>(
    name: (typeof names)[number],
    check: RunCheck<Value>,
  ): Promise<Value | undefined> {
    const { value, ...result } = await catchFailure(check);
    done.push({ name, ...result });
    return value;
  }
  const skipOthers = (missing: string) => {
    const skipped = { status: "skipped", detail: `needs ${missing}`, missing } as const;
    const others = names.filter((name) => done.every((check) => check.name !== name));
    return [...done, ...others.map((name) => ({ name, ...skipped }))];
  };

  const baseUrl = await run("address", () => checkAddress(context));
  const client = await run("API key", () => checkApiKey(context, baseUrl));
  if (baseUrl === undefined) return skipOthers("an address");
  if (client === undefined) return skipOthers("an API key");
  const responses = await run("service", () => checkReachable(baseUrl, context));
  if (responses === undefined) return skipOthers("a service that responds");
  await run("clock", () => checkClock(responses.reference));
  await run("contract", () => checkContract(responses.reference));
  await run("access", () => checkAccess(client, responses.card.status));
  if (done.at(-1)?.status === "failed") return skipOthers("a key that is accepted");
  await run("template", () => checkTemplate(client, templateId));
  return done;
}

/** The fix for an error of the client is the link to its page. */
async function catchFailure<Value>(check: RunCheck<Value>): Promise<CheckResult<Value>> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof CommandError) return failed(error.problem, error.fix);
    if (!isIssuingError(error)) throw error;
    return failed(removeErrorLink(error.message), formatErrorLink(error.code).trim());
  }
}

/** @returns the address without a slash at its end. */
async function checkAddress(context: Context): Promise<CheckResult<string>> {
  const { globals, environment } = context;
  const address = readBaseUrl(globals.baseUrl, environment);
  await context.createClient({ apiKey: "checked-separately" }); // validates the address
  const baseUrl = address.replace(/\/+$/, "");
  const source = globals.baseUrl === undefined ? nameSource(context, "LOYALTY_URL") : "--base-url";
  return passed(`${address} (${source})${describePath(baseUrl)}`, baseUrl);
}

/** @returns the client, unless the address is missing. */
async function checkApiKey(
  context: Context,
  baseUrl: string | undefined,
): Promise<CheckResult<IssuingClient>> {
  const { globals, sources, environment } = context;
  requireKeyOfAddress(globals.baseUrl, sources);
  const apiKey = readApiKey(sources);
  const variable = environment.LOYALTY_API_KEY ? "LOYALTY_API_KEY" : "LOYALTY_API_KEY_COMMAND";
  const detail = `present (${nameSource(context, variable)})`;
  if (baseUrl === undefined) return passed(detail);
  // An invalid key, such as one with a space, is an error of the client.
  return passed(detail, await context.createClient({ apiKey, userAgent: "doctor" }));
}

/** @returns an empty text for an address without a path. */
function describePath(baseUrl: string): string {
  const { pathname } = new URL(baseUrl);
  if (pathname === "/") return "";
  return `; it has the path ${pathname}, which must be one of the service, not of its console`;
}

const nameSource = ({ terminal }: Context, variable: string) =>
  terminal.env[variable] === undefined ? `${variable} in .env` : variable;

/** A response to a request without the key. */
interface Received {
  status: number;
  headers: Headers;
  url: string;
  bytes: Uint8Array;
  durationMs: number;
  /** The time of this machine in the middle of the request. */
  atMs: number;
}

/** Requests the OpenAPI document, which needs no key (spec 4.6), and a card that does not exist. */
async function checkReachable(
  baseUrl: string,
  { timeoutMs, environment }: Context,
): Promise<CheckResult<Record<"reference" | "card", Received>>> {
  try {
    const reference = await get(`${baseUrl}/api/docs/json`, timeoutMs);
    const card = await get(`${baseUrl}/api/v1/passes/doctor-${randomUUID()}`, timeoutMs);
    return (
      recognizeOtherServer(card) ??
      passed(`responds in ${reference.durationMs} ms`, { reference, card })
    );
  } catch (error) {
    const { name, cause } = error as { name: string; cause?: { name?: string; code?: string } };
    const code = cause?.code ?? cause?.name ?? name;
    const fix = describeNoResponse(code, new URL(baseUrl)) + getProxyHint(baseUrl, environment);
    return failed(`does not respond (${code})`, fix);
  }
}

const maxBodyBytes = 4 * 1024 * 1024;

async function get(url: string, timeoutMs: number): Promise<Received> {
  const startedMs = Date.now();
  const signal = AbortSignal.timeout(timeoutMs);
  const { status, headers, body } = await fetch(url, {
    headers: { "user-agent": "loyalty-cards doctor" }, // by which the mock knows a probe
    redirect: "manual",
    signal,
  });
  const bytes = (body && (await readBounded(body, maxBodyBytes))) ?? new Uint8Array();
  const durationMs = Date.now() - startedMs;
  return { status, headers, url, bytes, durationMs, atMs: startedMs + durationMs / 2 };
}

/**
 * Node.js uses the proxy of the environment only with `NODE_USE_ENV_PROXY=1`.
 * @returns an empty text when that is not the cause.
 */
function getProxyHint(baseUrl: string, environment: Context["environment"]): string {
  const { protocol, hostname } = new URL(baseUrl);
  const lower = `${protocol.slice(0, -1)}_proxy` as const;
  const upper = lower.toUpperCase() as `${string}_PROXY`;
  const variable = [lower, upper].find((each) => environment[each]);
  return variable === undefined || isLoopback(hostname) || environment.NODE_USE_ENV_PROXY === "1"
    ? ""
    : ` ${variable} is set, but Node.js does not use this proxy: set NODE_USE_ENV_PROXY=1 (Node.js 22.21, 24 or newer), for your program too.`;
}

/** @returns the failure for a response that the service does not give (spec 7). */
function recognizeOtherServer({ status, headers, url, bytes }: Received) {
  if (status >= 300 && status < 400) {
    const location = headers.get("location") ?? "";
    // The message has only the origin, because the rest can contain a token.
    const target = URL.canParse(location, url) ? new URL(location, url).origin : "another address";
    return failed(
      `it redirects (${status}) to ${target}`,
      "The client follows no redirects: set the address to the final one. Does a proxy ask for a login?",
    );
  }
  const problem = parseJson(bytes);
  if (status !== 404 || ["type", "title", "status", "detail"].some((member) => member in problem))
    return undefined;
  return failed(
    "another server responded at this address (404 without problem details)",
    "Correct the address: it is the one before /api/v1.",
  );
}

/** @returns an empty object for everything that is not a JSON object. */
function parseJson(bytes: Uint8Array): { paths?: Record<string, unknown> | null } {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString());
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

/**
 * A receiver rejects deliveries beyond 300 s ([spec
 * 8](https://loyalty-cards.github.io/loyalty-cards/specification#spec-8)).
 */
const noticeableSeconds = 30;

function checkClock({ headers, atMs }: Received): CheckResult {
  // The service drops the milliseconds.
  const serviceMs = Date.parse(headers.get("date") ?? "") + 500;
  if (Number.isNaN(serviceMs))
    return { status: "skipped", detail: "the service sends no Date header" };
  const seconds = Math.round((atMs - serviceMs) / 1000);
  if (Math.abs(seconds) <= noticeableSeconds)
    return passed("agrees with the Date header of the service");
  return failed(
    `this machine is ${Math.abs(seconds)} s ${seconds > 0 ? "ahead of" : "behind"} the service`,
    "Synchronize the clock of this machine (NTP): a receiver rejects webhooks from 300 s.",
  );
}

/**
 * Whether the document has the operations that the client calls, under any prefix and with any
 * names of parameters.
 */
function checkContract({ status, url, bytes }: Received): CheckResult {
  const { paths } = parseJson(bytes);
  if (status !== 200 || !paths)
    return warning(
      `${url} is not an OpenAPI document (${status})`,
      "Is this the address of the service, without /api/v1?",
    );
  const toShape = (path: string) => path.replaceAll(/(?<=\/)\{[^/]*/g, "{}");
  const isServed = ({ method, path }: { method: string; path: string }) =>
    Object.entries(paths).some(
      ([served, item]) =>
        toShape(served).endsWith(toShape(path)) && method.toLowerCase() in Object(item),
    );
  const missing = Object.values(operations).filter((operation) => !isServed(operation));
  if (missing.length === 0) return passed("has every operation");
  return failed(
    `the service's document has no ${missing.map(({ method, path }) => `${method} ${path}`).join(", ")}`,
    "Compare both documents: https://loyalty-cards.github.io/loyalty-cards/assumptions#compare-with-your-service",
  );
}

/**
 * Reads a card that does not exist. The specification does not name the statuses of a wrong key and
 * of an unknown card, so the response is compared with that to a request without a key.
 */
async function checkAccess(client: IssuingClient, statusWithoutKey: number): Promise<CheckResult> {
  const id = `doctor-${randomUUID()}`;
  const { response } = await client.api.GET("/passes/{id}", { params: { path: { id } } });
  const { status } = response;
  if (status === 401 || status === 403) {
    const result = failed(
      `the key is not accepted (${status})`,
      "Is it complete, not revoked, of this service? The console creates others: API & webhooks (mock: Setup).",
    );
    return { ...result, exitCode: exitCodes.keyRefused };
  }
  const unavailable = recognizeUnavailable(status);
  if (unavailable !== undefined) return unavailable;
  if (statusWithoutKey !== status) return passed("the key is accepted");
  return warning(
    `not checked: the service responds ${status} with and without the key`,
    "Run `loyalty-cards card ID` with the id of a card that exists.",
  );
}

/** @returns the failure for a status that says nothing about the key or the template. */
const recognizeUnavailable = (status: number) =>
  status === 429 || status >= 500
    ? failed(`not checked: the service responded ${status}`, "Run doctor again later.")
    : undefined;

/**
 * The specification promises a 422 for a malformed phone or email ([spec
 * 4.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-1)), so the service
 * issues no card for this.
 */
const invalidRequest = { customer: { phone: "not-a-number", email: "not-an-email" } };

async function checkTemplate(
  client: IssuingClient,
  templateId: string | undefined,
): Promise<CheckResult> {
  if (templateId === undefined)
    return {
      status: "skipped",
      detail: "use --template or set LOYALTY_TEMPLATE_ID to check that it exists",
    };
  const post = async (id: string) => {
    const { response } = await client.api.POST("/templates/{templateId}/passes", {
      params: { path: { templateId: id } },
      body: invalidRequest as never,
    });
    return response.status;
  };
  // The first request is for a template that cannot exist: a service may validate the customer
  // before it looks for the template.
  const unknown = await post(`doctor-${randomUUID()}`);
  if (unknown < 400)
    return warning(
      `the service accepted an unknown template (${unknown})`,
      "It validates no templates.",
    );
  const status = await post(templateId);
  if (status < 400)
    return failed(
      `the service issued a card to an invalid customer (${status})`,
      "Delete it in the service's console.",
    );
  if (status === 404 || status === 410)
    return failed(
      `${JSON.stringify(templateId)} does not exist or is archived`,
      "Copy the id of a template from the service's console.",
    );
  if (status === 401 || status === 403)
    return failed(`the key may not issue cards (${status})`, "Use a Website or Full key.");
  const unavailable = recognizeUnavailable(status) ?? recognizeUnavailable(unknown);
  if (unavailable !== undefined) return unavailable;
  return status === unknown
    ? warning(
        `the service responds ${status} for an unknown template too`,
        "Issue a test card to check it: `loyalty-cards issue --help`.",
      )
    : passed(`${templateId} exists`);
}
