/** The address and the key: from options, the environment, `.env`, or a command that prints the key. The key is never an argument and never printed. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import type { IssuingClient, IssuingClientOptions } from "@loyalty-cards/issuing-client";
import { CommandError } from "./command-error.ts";
import type { Terminal } from "./terminal.ts";

/** The variables that commands read, from the environment or `.env`. */
export const variables = {
  LOYALTY_URL: "address of the service, without /api/v1",
  LOYALTY_API_KEY: "API key",
  LOYALTY_API_KEY_COMMAND: "or a command that prints the key",
  LOYALTY_TEMPLATE_ID: "template, the default of --template",
  LOYALTY_IDEMPOTENCY_NAMESPACE: "part of each idempotency key",
  LOYALTY_SIGNING_SECRET: "signing secret of the webhooks",
  LOYALTY_WEBHOOK_URL: "webhook receiver, the default of --to",
} as const;

export type Variable = keyof typeof variables;

/** All variables, those of other programs included. */
export type Environment = Readonly<Partial<Record<Variable, string>>> &
  Readonly<Record<string, string | undefined>>;

/** The variables of `.env` in the working folder, and those of the process, which take precedence. */
export function readEnvironment({ env, cwd }: Pick<Terminal, "env" | "cwd">): Environment {
  let text = "";
  try {
    text = readFileSync(join(cwd, ".env"), "utf8");
  } catch {
    // there is none
  }
  return { ...parseEnv(text), ...env };
}

/** `LOYALTY_API_KEY`, or the first line that `LOYALTY_API_KEY_COMMAND` prints. @throws {CommandError} when neither is set. */
export function readApiKey(environment: Environment): string {
  const { LOYALTY_API_KEY: key, LOYALTY_API_KEY_COMMAND: command } = environment;
  if (key) return key;
  if (command) return runKeyCommand(command);
  throw new CommandError(
    "There is no API key: set LOYALTY_API_KEY in the environment or in .env, or LOYALTY_API_KEY_COMMAND to a command that prints it.",
  );
}

function runKeyCommand(command: string): string {
  const [shell, flag] = process.platform === "win32" ? ["cmd.exe", "/c"] : ["/bin/sh", "-c"];
  try {
    const output = execFileSync(shell, [flag, command], {
      encoding: "utf8",
      stdio: ["inherit", "pipe", "inherit"],
    });
    const [key = ""] = output.split(/\r?\n/);
    if (key !== "") return key;
  } catch {
    // Its message can quote the output.
    throw new CommandError("LOYALTY_API_KEY_COMMAND failed: run it by hand to see why.");
  }
  throw new CommandError(
    "LOYALTY_API_KEY_COMMAND printed nothing: it must print the API key on its first line.",
  );
}

/** `--base-url`, or `LOYALTY_URL`. @throws {CommandError} when neither is set. */
export function readBaseUrl(option: string | undefined, environment: Environment): string {
  const baseUrl = option ?? environment.LOYALTY_URL;
  if (baseUrl) return baseUrl;
  throw new CommandError(
    "There is no address: use --base-url, or set LOYALTY_URL in the environment or in .env. For a service on this machine run `loyalty-cards dev`.",
  );
}

/** `--template`, or `LOYALTY_TEMPLATE_ID`. @throws {CommandError} when neither is set. */
export function readTemplateId(option: string | undefined, environment: Environment): string {
  const templateId = option ?? environment.LOYALTY_TEMPLATE_ID;
  if (templateId) return templateId;
  throw new CommandError(
    "There is no template: use --template, or set LOYALTY_TEMPLATE_ID in the environment or in .env. The console of the service shows the ids of your templates.",
  );
}

export interface ClientSettings {
  baseUrl: string | undefined;
  timeoutMs: number;
}

/** @throws {CommandError} when the address or the key is missing; `configuration` errors of the client for invalid ones. */
export async function createClient(
  { baseUrl, timeoutMs }: ClientSettings,
  environment: Environment,
  more: Partial<IssuingClientOptions> = {},
): Promise<IssuingClient> {
  const { createIssuingClient } = await import("@loyalty-cards/issuing-client");
  const namespace = environment.LOYALTY_IDEMPOTENCY_NAMESPACE;
  return createIssuingClient({
    baseUrl: readBaseUrl(baseUrl, environment),
    apiKey: more.apiKey ?? readApiKey(environment),
    userAgent: "cli",
    ...(namespace && { idempotencyNamespace: namespace }),
    timeoutMs,
    ...more,
  });
}
