/**
 * `purchase`: records a purchase on a card of the mock service, which then delivers
 * `balance.changed`.
 */
import type { Operation } from "@loyalty-cards/mock-server";
import { type Command, InvalidArgumentError } from "commander";
import {
  addExamples,
  type Cli,
  type Context,
  parseText,
  parseWhole,
  setAction,
} from "../command.ts";
import { CommandError, exitCodes } from "../command-error.ts";
import { readBaseUrl } from "../configuration.ts";
import { text } from "../printable.ts";

export function addPurchaseCommand(program: Command, cli: Cli): void {
  const purchase = program
    .command("purchase")
    .description("record a purchase at the mock service")
    .argument("<card-id>", "id of a card that the mock service has", parseText)
    .argument("<points>", "points that the purchase adds", parsePoints);
  addExamples(
    purchase,
    "loyalty-cards dev --forward http://localhost:3000/webhooks/loyalty",
    "# in another terminal",
    "loyalty-cards purchase card_8sT2kq 120",
  );
  setAction(cli, purchase, async () => runPurchase);
}

function parsePoints(value: string): number {
  if (Number.isNaN(Number(value)))
    throw new InvalidArgumentError("The card comes first: purchase CARD POINTS.");
  return parseWhole(1)(value);
}

const devAdvice = "Run `loyalty-cards dev`, and set LOYALTY_URL to the address that it prints.";
const dataAdvice = "dev forgets its cards when it stops; --data FILE keeps them.";

async function runPurchase(
  context: Context,
  _options: object,
  cardId: string,
  points: number,
): Promise<undefined> {
  const request = await createControlRequest(context);
  await requireMockService(request);
  const response = await request(`/cards/${encodeURIComponent(cardId)}/purchase`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ points }),
  });
  const body = await readJson(response);
  if (!response.ok || body === null) {
    const { detail } = (body ?? {}) as { detail?: string };
    const problem = detail ?? `The mock service responded ${response.status}.`;
    const advice = response.status === 404 ? ` ${dataAdvice}` : "";
    throw new CommandError(problem + advice, { exitCode: exitCodes.failed });
  }
  const { id, change, balance } = body as Operation;
  context.print.data(
    body,
    () => text`Purchase of ${change} points: the balance is ${balance} (${id})`,
  );
}

type ControlRequest = (path: string, init?: RequestInit) => Promise<Response>;

/**
 * Creates a function that sends a request to the control API.
 * @throws {CommandError} for an invalid address; the function, when there is no response.
 */
async function createControlRequest({
  createClient,
  environment,
  globals,
  timeoutMs,
}: Context): Promise<ControlRequest> {
  // Validates the address. The control API needs no key: none is sent, so http is allowed.
  await createClient({ apiKey: "not-sent", allowInsecureHttp: true, idempotencyNamespace: "" });
  const baseUrl = readBaseUrl(globals.baseUrl, environment).replace(/\/+$/, "");
  return (path, init) =>
    fetch(`${baseUrl}/_mock${path}`, {
      ...init,
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
    }).catch(() => {
      const problem = "The mock service does not respond";
      throw new CommandError(problem, { exitCode: exitCodes.failed, fix: devAdvice });
    });
}

/**
 * Without this check a real service would get the purchase.
 * @throws {CommandError} when the address is not one of a mock service.
 */
async function requireMockService(request: ControlRequest): Promise<void> {
  const health = await request("/health");
  const report = (await readJson(health)) as { status?: unknown } | null;
  if (health.ok && report?.status === "ok") return;
  throw new CommandError(
    "This address is not a mock service: purchases of a real service come from its tills",
    { fix: devAdvice },
  );
}

/** @returns null for a body that is not JSON. */
const readJson = (response: Response): Promise<unknown> => response.json().catch(() => null);
