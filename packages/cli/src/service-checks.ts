/** The checks of `doctor`. Each one sends only requests that change nothing, and says how to fix what it finds. */
import { randomUUID } from "node:crypto";
import { type IssuingClient, isIssuingError } from "@loyalty-cards/issuing-client";
import type { Context } from "./command.ts";
import { CommandError, exitCodes } from "./command-error.ts";
import { compareWithService } from "./commands/drift.ts";
import { describeMismatch, mismatchAdvice, readApiKey, readBaseUrl } from "./configuration.ts";

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

const names = ["address", "API key", "service", "clock", "contract", "key accepted", "template"] as const;

/** @param templateId undefined when there is none to check. */
export async function checkService(context: Context, templateId: string | undefined): Promise<Check[]> {
  const { timeoutMs } = context;
  const results: Partial<Record<(typeof names)[number], Result>> = {};
  /** The remaining checks are skipped for this reason. */
  const complete = (reason: string) => names.map((name) => ({ name, ...(results[name] ?? skipped(reason)) }));

  const [address, baseUrl] = await checkAddress(context);
  const mismatch = describeMismatch(context.globals.baseUrl, context.sources);
  if (mismatch !== undefined) {
    results.address = address;
    results["API key"] = { ...failed(mismatch, mismatchAdvice), exitCode: exitCodes.usage };
    return complete("nothing is sent to an address that the key may not be for");
  }
  const [key, apiKey] = checkKey(context);
  results.address = address;
  results["API key"] = key;
  if (baseUrl === undefined) return complete("there is no valid address");
  const { result, dates } = await contactService(baseUrl, timeoutMs);
  results.service = result;
  if (dates === undefined) return complete("the service is not reachable");
  results.clock = checkClock(dates);
  results.contract = await checkContract(baseUrl, timeoutMs);
  if (apiKey === undefined) return complete("there is no API key");
  let client: IssuingClient;
  try {
    client = await context.createClient({ apiKey, maxRetries: 0 });
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
    await context.createClient({ apiKey: "checked-separately" }); // validates the address
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
  const startedMs = Date.now();
  try {
    const { status, headers } = await send(`${baseUrl}/api/docs/json`, timeoutMs);
    const endedMs = Date.now();
    const service = Date.parse(headers.get("date") ?? "");
    // The service writes the date between both times, and drops the milliseconds.
    const dates = { service: service + 500, own: (startedMs + endedMs) / 2 };
    const isRedirect = status >= 300 && status < 400;
    const result = isRedirect
      ? failed(
          `it redirects (${status})`,
          "Use the address that it redirects to: the client follows no redirects.",
        )
      : passed(`responds in ${endedMs - startedMs} ms`);
    return { result, dates };
  } catch (error) {
    const code = getFetchFailure(error) ?? (error as Error).name;
    const fix = /CERT|SELF_SIGNED|TLS/.test(code)
      ? "Its certificate is not valid for this machine: set NODE_EXTRA_CA_CERTS for a private authority."
      : (fixes[code] ?? "Do the address, a proxy and the firewall permit the connection?");
    return { result: failed(`does not respond (${code})`, fix) };
  }
}

/** The code of a request of `send` that failed; undefined for another error. */
function getFetchFailure(error: unknown): string | undefined {
  const { name, cause } = error as { name?: string; cause?: { code?: string } };
  return cause?.code ?? (name === "TimeoutError" ? name : undefined);
}

/** Without the key. */
async function send(url: string, timeoutMs: number): Promise<Response> {
  const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(timeoutMs) });
  await response.body?.cancel();
  return response;
}

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
  const id = `doctor-${randomUUID()}`;
  const { response } = await client.api.GET("/passes/{id}", { params: { path: { id } } });
  const { status } = response;
  if (status === 401 || status === 403) {
    const fix =
      "Is the key complete, not revoked, and of this service? The console creates new ones (API & webhooks).";
    return { ...failed(`the service responded ${status}`, fix), exitCode: exitCodes.keyRefused };
  }
  if (status >= 500) return failed(`the service responded ${status}`, "Run doctor again later.");
  const withoutKey = await send(`${baseUrl}/api/v1/passes/${id}`, timeoutMs);
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
    if (!(error instanceof CommandError)) throw error;
    return warning(
      "the service serves no OpenAPI document at /api/docs/json",
      "Is the path of the address correct?",
    );
  }
}
