/** The runtime: whether it is Node.js, its environment variables, and what a test hides of it. */
import { describeHidden } from "@loyalty-cards/internal/builtin-module";

/** Some test environments hide the classes of fetch. */
export const describeMissingFetch = (user: string) =>
  describeHidden(user, "Headers, Request and Response");

/** The message for an option whose default is an environment variable. */
export const describeMissing = (name: string, variable: string) =>
  `${name} is missing or empty. Set the environment variable ${variable} before the client is created, or the option. Node.js reads a file of variables with --env-file=.env; with dotenv, import "dotenv/config" first.`;

/** What distinguishes the runtimes: others than Node.js have `process.versions.node` too. */
interface Globals {
  process?: {
    versions?: { node?: unknown; bun?: unknown };
    env?: Record<string, string | undefined>;
  };
  navigator?: { userAgent?: unknown };
  Deno?: unknown;
  EdgeRuntime?: unknown;
}

export function isNode(
  { process, navigator, Deno, EdgeRuntime }: Globals = globalThis as Globals,
): boolean {
  const { node, bun } = process?.versions ?? {};
  const isOther = [bun, Deno, EdgeRuntime].some((mark) => mark !== undefined);
  return node !== undefined && !isOther && navigator?.userAgent !== "Cloudflare-Workers";
}

/** @returns undefined where no environment exists (Workers) or reading it is not allowed (Deno). */
export function readEnvironment(name: string, globals = globalThis as Globals): string | undefined {
  try {
    return globals.process?.env?.[name];
  } catch {
    return undefined;
  }
}
