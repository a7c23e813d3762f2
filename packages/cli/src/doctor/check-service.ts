/** The checks of `doctor`, in their order. Each one sends only requests that change nothing, and says how to fix what it finds. */
import { randomUUID } from "node:crypto";
import { type IssuingClient, isIssuingError } from "@loyalty-cards/issuing-client";
import { operations } from "@loyalty-cards/openapi/operations";
import type { Context } from "../command.ts";
import { exitCodes } from "../command-error.ts";
import {
  describeMismatch,
  mismatchAdvice,
  readApiKey,
  readBaseUrl,
  readNamespace,
} from "../configuration.ts";
import {
  checkClock,
  contactService,
  findOtherServer,
  getFetchFailure,
  readDocument,
  readUnknownCard,
} from "./contact.ts";
import { type Check, failed, passed, type Result, skipped, toFailure, warning } from "./result.ts";

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
  const { result, dates } = await contactService(baseUrl, context);
  results.service = result;
  if (dates === undefined) return complete("the address is not that of a service that responds");
  results.clock = checkClock(dates);
  results.contract = await checkContract(baseUrl, timeoutMs);
  if (apiKey === undefined) return complete("there is no API key");
  let client: IssuingClient;
  try {
    client = await context.createClient({ apiKey });
  } catch (error) {
    results["API key"] = toFailure(error); // the key is invalid, for example has a character that a header cannot contain
    return complete("there is no valid API key");
  }
  const accepted = await toResult(context, () => checkKeyIsAccepted(client, baseUrl, timeoutMs));
  results["key accepted"] = accepted;
  if (accepted.status === "failed") return complete("the API key is not accepted");
  results.template = await toResult(context, () => checkTemplate(client, templateId));
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
    return [toFailure(error, context), undefined];
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

async function toResult(context: Context, check: () => Promise<Result>): Promise<Result> {
  try {
    return await check();
  } catch (error) {
    const code = isIssuingError(error) ? undefined : getFetchFailure(error);
    return code === undefined
      ? toFailure(error, context)
      : failed(`the service stopped responding (${code})`, "Run doctor again.");
  }
}

/** Whether the document of the service has the operations that the client calls, under any prefix and with any names of parameters. */
async function checkContract(baseUrl: string, timeoutMs: number): Promise<Result> {
  const address = `${baseUrl}/api/docs/json`;
  const advice = "Is this the address of the service, without /api/v1?";
  let paths: Record<string, object>;
  try {
    const { status, bytes } = await readDocument(address, timeoutMs);
    if (status !== 200) return warning(`${address} responded ${status}`, advice);
    paths = JSON.parse(Buffer.from(bytes ?? []).toString()).paths;
  } catch (error) {
    const code = getFetchFailure(error);
    const problem = code === undefined ? "is not an OpenAPI document" : `could not be read (${code})`;
    return warning(`${address} ${problem}`, advice);
  }
  const served = Object.entries(paths ?? {}).flatMap(([path, item]) =>
    Object.keys(item ?? {}).map((method) => ({ method: method.toUpperCase(), shape: toShape(path) })),
  );
  const missing = Object.values(operations).filter(
    ({ method, path }) => !served.some((one) => one.method === method && one.shape.endsWith(toShape(path))),
  );
  if (missing.length === 0) return passed("has every operation");
  const names = missing.map(({ method, path }) => `${method} ${path}`).join(", ");
  const fix =
    "Compare both documents: https://loyalty-cards.github.io/loyalty-cards/assumptions#compare-with-your-service";
  return failed(`the service's document has no ${names}`, fix);
}

const toShape = (path: string) => path.replaceAll(/(?<=\/)\{[^/]*/g, "{}");

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

/**
 * The specification promises a 422 for a malformed phone or email ([spec 4.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-1)), so the
 * service issues no card for this.
 */
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
