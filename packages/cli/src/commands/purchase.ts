/** `purchase`: a purchase on a card of the running mock service, which then delivers `balance.changed`. */
import type { Command } from "commander";
import { addExamples, type Cli, type Context, parseWhole, setAction } from "../command.ts";
import { CommandError, exitCodes } from "../command-error.ts";
import { readBaseUrl } from "../configuration.ts";
import { text } from "../printable.ts";

export function addPurchaseCommand(program: Command, cli: Cli): void {
  const purchase = program
    .command("purchase")
    .summary("record a purchase on a card of the mock service")
    .description(
      "record a purchase on a card of the mock service that `dev` runs. The service stores it, and delivers balance.changed with the new balance",
    )
    .argument("<card-id>", "id of a card that the mock service has")
    .argument("<points>", "points that the purchase adds", parseWhole(1));
  addExamples(
    purchase,
    "loyalty-cards dev --forward http://localhost:3000/webhooks/loyalty",
    "# in another terminal",
    "loyalty-cards purchase card_8sT2kq 120",
  );
  setAction(cli, purchase, runPurchase);
}

interface Operation {
  id: string;
  change: number;
  balance: number;
}

async function runPurchase(
  { print, environment, globals, timeoutMs }: Context,
  _options: object,
  cardId: string,
  points: number,
): Promise<undefined> {
  const baseUrl = readBaseUrl(globals.baseUrl, environment).replace(/\/+$/, "");
  const call = (path: string, init: RequestInit = {}) => callMock(`${baseUrl}/_mock${path}`, timeoutMs, init);
  const health = await call("/health");
  const { status } = health.ok ? ((await health.json().catch(() => ({}))) as { status?: unknown }) : {};
  // Without this check a real service would get the request.
  if (status !== "ok")
    throw new CommandError(
      "This address is not a mock service: purchases of a real service come from its tills",
      {
        fix: "Run `loyalty-cards dev`, and set LOYALTY_URL to the address that it prints.",
      },
    );
  const response = await call(`/cards/${encodeURIComponent(cardId)}/purchase`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ points }),
  });
  if (!response.ok) {
    const { detail } = (await response.json().catch(() => ({}))) as { detail?: string };
    throw new CommandError(detail ?? `The mock service responded ${response.status}.`, {
      exitCode: exitCodes.failed,
    });
  }
  const operation = (await response.json()) as Operation;
  const { id, change, balance } = operation;
  print.data(operation, () => text`Purchase of ${change} points: the balance is ${balance} (${id})`);
  return undefined;
}

/** Sends no API key: the control API needs none. @throws {CommandError} when there is no response. */
async function callMock(url: string, timeoutMs: number, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...init, redirect: "manual", signal: AbortSignal.timeout(timeoutMs) });
  } catch {
    throw new CommandError("The mock service does not respond", {
      exitCode: exitCodes.failed,
      fix: "Run `loyalty-cards dev`, and set LOYALTY_URL to the address that it prints.",
    });
  }
}
