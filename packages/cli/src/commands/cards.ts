/** `issue`, `card`, `operations` and `consent`: one card. */
import type {
  Card,
  ConsentState,
  FieldValues,
  IssueCardRequest,
  Operation,
} from "@loyalty-cards/issuing-client";
import { type Command, Option } from "commander";
import {
  addExamples,
  type Cli,
  type Context,
  collect,
  parseText,
  parseVersion,
  parseWhole,
  setAction,
} from "../command.ts";
import { CommandError, exitCodes, repeatAdvice } from "../command-error.ts";
import { readTemplateId } from "../configuration.ts";
import { formatTable, Text } from "../printable.ts";

interface IssueCommandOptions {
  template?: string;
  userId: string;
  phone?: string;
  email?: string;
  name?: string;
  field?: string[];
  privacy: string;
  /** True for `--marketing` without a value. */
  marketing?: string | true;
}

function addIssueCommand(program: Command, cli: Cli): void {
  const issue = program
    .command("issue")
    .description("issue a card to one user")
    .option("--template <id>", "template of the card (default: LOYALTY_TEMPLATE_ID)")
    .requiredOption("--user-id <id>", "id of the user in your database (required)", parseText)
    .requiredOption(
      "--privacy <version>",
      "version of the accepted privacy text (required)",
      parseVersion,
    )
    .option(
      "--marketing [version]",
      "the user opted in to marketing; version of its text",
      parseVersion,
    )
    .option("--phone <number>", "phone number; it identifies the customer first")
    .option("--email <address>", "email address")
    .option("--name <name>", "name of the customer")
    .option(
      "--field <key=value>",
      "a field of the card, key=text or key:=number; repeatable",
      collect,
    );
  addExamples(
    issue,
    "loyalty-cards issue --user-id 7 --privacy 2026-01 --phone +48600100200 \\",
    "  --field name=Anna",
  );
  setAction(cli, issue, async () => runIssue);
}

export function addCardCommands(program: Command, cli: Cli): void {
  addIssueCommand(program, cli);
  const card = program
    .command("card")
    .description("print a card")
    .argument("<card-id>", "id of the card");
  addExamples(card, "loyalty-cards card card_8sT2kq", "loyalty-cards card card_8sT2kq --json");
  setAction(cli, card, async () => printCard);

  const operations = program
    .command("operations")
    .description("print the operations of a card, newest first")
    .argument("<card-id>", "id of the card")
    .option(
      "--limit <number>",
      "how many operations (default: the service decides)",
      parseWhole(1, 100),
    );
  addExamples(operations, "loyalty-cards operations card_8sT2kq --limit 5");
  setAction(cli, operations, async () => printOperations);

  const consent = program
    .command("consent")
    .description("print or change the marketing consent")
    .argument("<card-id>", "id of the card")
    .addOption(new Option("--set <answer>", "give or withdraw the consent").choices(["yes", "no"]))
    .option(
      "--version <label>",
      "version of the text that the customer agreed to, with --set",
      parseVersion,
    );
  addExamples(consent, "loyalty-cards consent card_8sT2kq --set yes --version 2026-01");
  setAction(cli, consent, async () => runConsent);
}

async function printCard(
  { createClient, print }: Context,
  _options: object,
  cardId: string,
): Promise<undefined> {
  const found = await (await createClient()).getCard(cardId);
  print.data(found, () => formatCard(found));
}

async function printOperations(
  { createClient, print }: Context,
  { limit }: { limit?: number },
  cardId: string,
): Promise<undefined> {
  const client = await createClient();
  const list = await client.listOperations(cardId, limit === undefined ? {} : { limit });
  print.data(list, () => {
    if (list.length === 0) return "This card has no operations.";
    const toRow = (one: Operation) => [one.createdAt, one.type, one.change, one.balance, one.id];
    const rows = list.map((one) => toRow(one).map((value) => value ?? ""));
    return formatTable(rows, ["Time", "Type", "Change", "Balance", "Id"]);
  });
}

async function runConsent(
  { createClient, print }: Context,
  { set, version }: { set?: "yes" | "no"; version?: string },
  cardId: string,
): Promise<undefined> {
  if (set === undefined && version !== undefined) throw new CommandError("--version needs --set.");
  const client = await createClient();
  let changed: ConsentState | undefined;
  if (set !== undefined) {
    const change = { marketing: set === "yes", ...(version !== undefined && { version }) };
    changed = await client.setConsent(cardId, change);
  }
  // The response to a change may have no body (spec 4.5).
  const state = changed ?? (await client.getConsent(cardId));
  print.data(state, () => `Marketing consent: ${state.marketingConsent ? "yes" : "no"}`);
}

async function runIssue(context: Context, options: IssueCommandOptions): Promise<undefined> {
  const { print, terminal, environment, createClient } = context;
  const templateId = readTemplateId(options.template, environment);
  const request = toRequest(options);
  const { userId } = options;
  let differentFields: readonly string[] = [];
  const client = await createClient({
    onEvent: (event) => {
      if (event.type === "fields-differ") differentFields = event.fieldKeys;
    },
  });
  const stopping = new AbortController();
  const removeListener = terminal.onInterrupt(() => {
    removeListener(); // a second Ctrl-C ends the process
    const message = Text.lines(["Interrupted before the service responded.", repeatAdvice]);
    stopping.abort(new CommandError(message, { exitCode: exitCodes.interrupted }));
  });
  const { signal } = stopping;
  const card = await client
    .issueCard(templateId, request, { userId, signal })
    .finally(removeListener);
  const isEarlier = differentFields.length > 0;
  print.data({ ...card, ...(isEarlier && { earlierRequest: { differentFields } }) }, () =>
    formatCard(card),
  );
  // This is not an error, because the service may have normalized the values of this request.
  if (isEarlier)
    print.info(
      `This is the card of an earlier request, unless the service changes values: it has other values for ${differentFields.join(", ")} than those sent. Is --user-id the id of another person?`,
    );
}

function toRequest({
  phone,
  email,
  name,
  field = [],
  privacy,
  marketing,
}: IssueCommandOptions): IssueCardRequest {
  return {
    fieldValues: Object.fromEntries(field.map(parseField)),
    customer: {
      phone,
      email,
      name,
      consents: {
        privacy: { version: privacy },
        ...(marketing !== undefined && {
          marketing: marketing === true ? {} : { version: marketing },
        }),
      },
    },
  };
}

function parseField(text: string): [string, FieldValues[string]] {
  const [, key = "", operator, value = ""] = /^([^=:]+)(:?=)(.*)$/s.exec(text) ?? [];
  if (operator === "=") return [key, value];
  if (operator === ":=" && isExactNumber(value)) return [key, Number(value)];
  // The message does not quote the text, which can be personal data.
  throw new CommandError(
    "--field must be key=text or key:=number, such as name=Anna or visits:=3.",
  );
}

/** A larger number would be sent with other digits. */
const isExactNumber = (text: string) =>
  text.trim() !== "" && Math.abs(Number(text)) <= Number.MAX_SAFE_INTEGER;

function formatCard(card: Card): Text {
  const rows = Object.entries({
    Card: card.id,
    Page: card.publicUrl,
    Status: card.status,
    Customer: card.customerId,
    Balance: card.loyaltyBalance,
    Tier: card.loyaltyTier ?? "none",
    "Issued via": card.issuedVia,
  });
  const fields = Object.entries(card.fieldValues ?? {}).map(
    ([key, value]) => [`Field ${key}`, value] as const,
  );
  // A member is absent when the service does not send it.
  const present = [...rows, ...fields].filter(([, value]) => value !== undefined);
  const format = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
  return formatTable(present.map(([name, value]) => [name, format(value)]));
}
