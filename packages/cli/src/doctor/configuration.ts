/** The address, the API key and the namespace: whether they are set, and where. Sends nothing. */
import type { Context } from "../command.ts";
import { readApiKey, readBaseUrl, readNamespace } from "../configuration.ts";
import { passed, type Result, toFailure } from "./result.ts";

export async function checkAddress(context: Context): Promise<[Result, string | undefined]> {
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

export function checkKey({ environment, sources, terminal }: Context): [Result, string | undefined] {
  try {
    const apiKey = readApiKey(sources);
    const name = environment.LOYALTY_API_KEY ? "LOYALTY_API_KEY" : "LOYALTY_API_KEY_COMMAND";
    return [passed(`present (${describeSource(name, terminal.env)})`), apiKey];
  } catch (error) {
    return [toFailure(error), undefined];
  }
}

/** Two programs with different namespaces issue two cards to one user. */
export function checkNamespace({ environment, terminal }: Context): Result {
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
