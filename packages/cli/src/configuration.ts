/**
 * The address and the key: from options, the environment, `.env`, or a command that prints the key.
 * The key is never an argument and never printed.
 */
import { execSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import type { IssuingClient, IssuingClientOptions } from "@loyalty-cards/issuing-client";
import { CommandError } from "./command-error.ts";
import type { Terminal } from "./printer.ts";

/** The variables that commands read, from the environment or `.env`. */
export const variables = {
  LOYALTY_URL: "address of the service, without /api/v1",
  LOYALTY_API_KEY: "API key",
  LOYALTY_API_KEY_COMMAND: "or a command that prints it; not from .env",
  LOYALTY_TEMPLATE_ID: "template, the default of --template",
  LOYALTY_IDEMPOTENCY_NAMESPACE: "part of each idempotency key",
  LOYALTY_SIGNING_SECRET: "signing secret of the webhooks",
  LOYALTY_WEBHOOK_URL: "webhook receiver, the default of --to",
} as const;

type Variable = keyof typeof variables;

/** A command can read these variables only, and those of a proxy. */
export type Environment = Readonly<Partial<Record<Variable, string>>> &
  Readonly<Record<`${string}_${"proxy" | "PROXY"}`, string | undefined>>;

/** The variables of the process, and those of `.env` in the working folder. */
export interface Sources {
  process: Environment;
  /**
   * The variables of `.env` without `LOYALTY_API_KEY_COMMAND`: the file may be another person's,
   * and then it must not run a command.
   */
  file: Environment;
  /** The variables of both. Those of the process take precedence. */
  all: Environment;
}

export function readSources({ env, cwd }: Pick<Terminal, "env" | "cwd">): Sources {
  let text = "";
  try {
    text = new TextDecoder().decode(readFileSync(join(cwd, ".env"))); // without a byte order mark
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!["ENOENT", "EISDIR"].includes(code)) throw error; // a folder .env is that of a Python project
  }
  if (text.includes("\0"))
    throw new CommandError(".env is not UTF-8", { fix: "Save it as UTF-8." });
  const lines = text.split("\n");
  const wrong = lines.findIndex((line) => /^\s*(?:export\s+)?LOYALTY_\w+(?!\w|\s*=)/.test(line));
  if (wrong >= 0)
    throw new CommandError(`.env line ${wrong + 1} has no "=" after the name`, {
      fix: "Write NAME=value. Nothing was sent.",
    });
  // parseEnv would take a tab for a part of the name or of the value.
  const { LOYALTY_API_KEY_COMMAND: _, ...file } = parseEnv(text.replaceAll("\t", " "));
  return { process: env, file, all: { ...file, ...env } };
}

/**
 * Returns `LOYALTY_API_KEY`, or the first line that `LOYALTY_API_KEY_COMMAND` prints.
 * @throws {CommandError} when neither is set.
 */
export function readApiKey({ all }: Sources): string {
  const { LOYALTY_API_KEY: variable, LOYALTY_API_KEY_COMMAND: command } = all;
  const key = variable || (command && runKeyCommand(command));
  if (key) {
    if (!/^bearer\s/i.test(key)) return key;
    throw new CommandError('The API key begins with "Bearer"', {
      fix: "Leave out Bearer and the space: the command adds them.",
    });
  }
  throw new CommandError("There is no API key", {
    fix: `Set LOYALTY_API_KEY in the environment or in .env, or LOYALTY_API_KEY_COMMAND, not in .env, to a command that prints it.${describeUnread(all)}`,
  });
}

function runKeyCommand(command: string): string {
  try {
    // The shell of the system: on Windows its quotes differ from those of a list of arguments.
    const output = execSync(command, { encoding: "utf8", stdio: ["inherit", "pipe", "inherit"] });
    const [key = ""] = output.split(/\r?\n/);
    if (key !== "") return key;
  } catch {
    // The message of this error can quote the output, so it is not printed.
    throw new CommandError("LOYALTY_API_KEY_COMMAND failed", { fix: "Run it by hand to see why." });
  }
  throw new CommandError("LOYALTY_API_KEY_COMMAND printed nothing", {
    fix: "It must print the API key on its first line.",
  });
}

/** The variables that are set under another name than the one that is missing. */
function describeUnread(environment: Environment): string {
  const names = Object.keys(environment).filter(
    (name) => name.startsWith("LOYALTY_") && !Object.hasOwn(variables, name),
  );
  return names.length === 0 ? "" : ` No command reads ${names.join(", ")}: rename what you meant.`;
}

/**
 * Returns `--base-url`, or `LOYALTY_URL`.
 * @throws {CommandError} when neither is set, or it has no scheme.
 */
export function readBaseUrl(option: string | undefined, environment: Environment): string {
  const baseUrl = (option ?? environment.LOYALTY_URL)?.trim(); // paths are appended to it
  if (baseUrl) {
    requireScheme("The address", baseUrl);
    return baseUrl;
  }
  throw new CommandError("There is no address", {
    fix: `Use --base-url, or set LOYALTY_URL in the environment or in .env. For a service on this machine run \`loyalty-cards dev\`.${describeUnread(environment)}`,
  });
}

/**
 * Says what to write for an address without a scheme: "localhost:3000/x" is a URL too, with the
 * scheme "localhost:".
 * @throws {CommandError}
 */
export function requireScheme(name: string, address: string): void {
  if (/^https?:/i.test(address) || address.includes("://")) return;
  // The text is not quoted: it can be a key that was set by mistake.
  throw new CommandError(`${name} has no scheme`, {
    fix: "Write https:// before the host, or http:// for a program on this machine.",
  });
}

/**
 * Returns `--template`, or `LOYALTY_TEMPLATE_ID`.
 * @throws {CommandError} when neither is set.
 */
export function readTemplateId(option: string | undefined, environment: Environment): string {
  const templateId = option ?? environment.LOYALTY_TEMPLATE_ID;
  if (templateId) return templateId;
  throw new CommandError(
    `There is no template: use --template, or set LOYALTY_TEMPLATE_ID in the environment or in .env. The service's console shows the ids of your templates.${describeUnread(environment)}`,
  );
}

/**
 * Rejects a key of the environment for an address of `.env`: the file of a folder that was
 * downloaded could name any address. The address of `--base-url` was typed by the person who runs
 * the command, so any key may be sent there.
 * @param option the value of `--base-url`.
 * @throws {CommandError}
 */
export function requireKeyOfAddress(option: string | undefined, sources: Sources): void {
  const hasKey = Boolean(sources.all.LOYALTY_API_KEY);
  const secret = hasKey ? "LOYALTY_API_KEY" : "LOYALTY_API_KEY_COMMAND";
  const host = findForeignHost(sources, { address: "LOYALTY_URL", option, secret });
  if (host === undefined) return;
  const place = hasKey ? " or both in .env" : ""; // .env never runs a command
  throw new CommandError(`LOYALTY_URL is set in .env, and ${secret} in the environment`, {
    fix: `The key was not sent to ${host}: set both in the environment${place}, or use --base-url.`,
  });
}

/**
 * Rejects a signing secret of the environment for a receiver whose address is from `.env`: the file
 * could collect signatures that the real receiver accepts.
 * @param option the address in the command.
 * @throws {CommandError}
 */
export function requireSecretOfAddress(option: string | undefined, sources: Sources): void {
  const secret = "LOYALTY_SIGNING_SECRET";
  const host = findForeignHost(sources, { address: "LOYALTY_WEBHOOK_URL", option, secret });
  if (host === undefined) return;
  throw new CommandError(`LOYALTY_WEBHOOK_URL is set in .env, and ${secret} in the environment`, {
    fix: `Nothing was sent to ${host}: set both in the environment or both in .env, or add the address to the command.`,
  });
}

/** @returns the host of an address of `.env`, when the secret is of the environment. */
function findForeignHost(
  { process, file }: Sources,
  used: { address: Variable; option: string | undefined; secret: Variable },
): string | undefined {
  const address = file[used.address] ?? "";
  const isFromFile = (used.option ?? process[used.address]) === undefined && address !== "";
  if (!isFromFile || !process[used.secret]) return undefined;
  return URL.canParse(address) ? new URL(address).host : address;
}

/** The default of the client. */
const minDeadlineMs = 30_000;
/** The longest that an outbox takes. No `--timeout` is longer. */
const maxDeadlineMs = 3_600_000;

/**
 * @throws {CommandError} when the address or the key is missing, or the key is not meant for the
 * address; `configuration` errors of the client for invalid ones.
 */
export async function createClient(
  option: string | undefined,
  sources: Sources,
  more: Partial<IssuingClientOptions> & { timeoutMs: number },
): Promise<IssuingClient> {
  const { createIssuingClient } = await import("@loyalty-cards/issuing-client");
  const baseUrl = readBaseUrl(option, sources.all);
  if (more.apiKey === undefined) requireKeyOfAddress(option, sources);
  return createIssuingClient({
    baseUrl,
    apiKey: more.apiKey ?? readApiKey(sources),
    userAgent: "cli",
    deadlineMs: Math.min(Math.max(minDeadlineMs, 3 * more.timeoutMs), maxDeadlineMs),
    idempotencyNamespace: sources.all.LOYALTY_IDEMPOTENCY_NAMESPACE ?? "", // as the client reads it
    ...more,
  });
}
