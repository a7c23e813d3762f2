/** The receiver that deliveries are sent to: its address, its signing secret, and the headers. The secret is never an argument and never printed. */
import { isLoopback, isPrivate } from "@loyalty-cards/internal/hostnames";
import { CommandError } from "../command-error.ts";
import type { Environment } from "../configuration.ts";

export const defaultSecretVariable = "LOYALTY_SIGNING_SECRET";

/** @param name the variable of the environment or of `.env`. @throws {CommandError} when it is missing or has white space around it. */
export function readSecret(environment: Environment, name: string = defaultSecretVariable): string {
  const secret = environment[name] ?? "";
  if (secret.trim() === "") {
    // The message does not quote the name: the user may have passed the secret itself by mistake.
    if (name !== defaultSecretVariable)
      throw new CommandError(
        "There is no signing secret: the variable that --secret-env names is not set in the environment or in .env.",
      );
    throw new CommandError(
      `There is no signing secret: set ${name} in the environment or in .env to the secret of the endpoint. \`loyalty-cards dev --forward URL\` prints one.`,
    );
  }
  if (secret.trim() !== secret) {
    throw new CommandError(`${name} has white space around it: remove it, or the signatures do not match.`);
  }
  return secret;
}

/**
 * Reads the address from `--to` or an argument, or from `LOYALTY_WEBHOOK_URL`.
 * @param advice says in the error message how to set it.
 * @throws {CommandError} when neither is set, or for an address that the service would not accept.
 */
export function readReceiverUrl(
  option: string | undefined,
  environment: Environment,
  advice = "use --to",
): URL {
  const text = option ?? environment["LOYALTY_WEBHOOK_URL"];
  if (!text) {
    throw new CommandError(
      `There is no address of a receiver: ${advice}, or set LOYALTY_WEBHOOK_URL in the environment or in .env.`,
    );
  }
  if (!URL.canParse(text))
    throw new CommandError(`"${text}" is not an address: write http://localhost:3000/webhooks/loyalty.`);
  const url = new URL(text);
  if (url.username !== "" || url.password !== "")
    throw new CommandError("The address of the receiver contains a user name or a password: remove it.");
  const isLocal = isLoopback(url.hostname) || isPrivate(url.hostname);
  if (url.protocol === "https:" || (url.protocol === "http:" && isLocal)) return url;
  throw new CommandError(
    `"${url.origin}" must use https: the service delivers to https only. http is for receivers on this machine or in its network.`,
  ); // spec 6.3.5
}

/** The headers of a delivery ([spec 6.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-1)). */
export const createHeaders = (type: string, deliveryId: string, signature: string) => ({
  "content-type": "application/json",
  "service-event": encodeURIComponent(type.toWellFormed()), // a header has ASCII only
  "service-delivery": deliveryId,
  "service-signature": signature,
});
