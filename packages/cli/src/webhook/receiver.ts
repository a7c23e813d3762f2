/**
 * The receiver that commands deliver to: its address, its signing secret, and one delivery byte for
 * byte.
 */
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { readBounded } from "@loyalty-cards/internal/bounded-body";
import { canForwardTo } from "@loyalty-cards/internal/hostnames";
import { toLine } from "@loyalty-cards/internal/response-text";
import { signWebhookSync } from "@loyalty-cards/webhook-verify";
import { CommandError } from "../command-error.ts";
import {
  type Environment,
  requireScheme,
  requireSecretOfAddress,
  type Sources,
} from "../configuration.ts";
import { describeNoRoute } from "../traffic-line.ts";

/** @throws {CommandError} when the secret is missing, or is one that the verifier rejects. */
export function readSecret(environment: Environment): string {
  const secret = environment.LOYALTY_SIGNING_SECRET ?? "";
  if (secret.trim() === "")
    throw new CommandError(
      "There is no signing secret: set LOYALTY_SIGNING_SECRET in the environment or in .env to the secret of the endpoint. `loyalty-cards dev --forward URL` prints one.",
    );
  try {
    signWebhookSync({ rawBody: "", secret });
    return secret;
  } catch (error) {
    throw new CommandError((error as Error).message.replace(/^secret/, "LOYALTY_SIGNING_SECRET"));
  }
}

/** What to check when a signature does not match. */
export const secretAdvice =
  "Compare the secret with the one of this endpoint in the service's console; each endpoint has its own.";

/**
 * Reads the address and the signing secret of the receiver that a command delivers to.
 * @param option the address in the command.
 * @throws {CommandError} also for a secret that is not meant for the address.
 */
export function readReceiver(
  option: string | undefined,
  sources: Sources,
): { url: URL; secret: string } {
  const url = readReceiverUrl(option, sources.all);
  const secret = readSecret(sources.all);
  requireSecretOfAddress(option, sources);
  return { url, secret };
}

/**
 * Reads the address from `--to` or an argument, or from `LOYALTY_WEBHOOK_URL`.
 * @throws {CommandError} when neither is set, or for an address that the service would not accept.
 */
function readReceiverUrl(option: string | undefined, environment: Environment): URL {
  const address = option ?? environment.LOYALTY_WEBHOOK_URL;
  if (!address)
    throw new CommandError(
      "There is no address of a receiver: add it to the command, or set LOYALTY_WEBHOOK_URL in the environment or in .env.",
    );
  requireScheme("The address of the receiver", address);
  if (!URL.canParse(address))
    throw new CommandError(
      `"${address}" is not an address: write http://localhost:3000/webhooks/loyalty.`,
    );
  const url = new URL(address);
  if (url.username !== "" || url.password !== "")
    throw new CommandError(
      "The address of the receiver contains a user name or a password: remove it.",
    );
  if (canForwardTo(url)) return url;
  throw new CommandError(
    `"${url.origin}" must use https: the service delivers to https only. http is for receivers on this machine or in its network.`,
  ); // spec 6.3.5
}

/**
 * The headers of a delivery ([spec
 * 6.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-1)).
 */
export const createHeaders = (type: string, deliveryId: string, signature: string): string[] =>
  Object.entries({
    "content-type": "application/json",
    "service-event": encodeURIComponent(type.toWellFormed()), // a header has ASCII only
    "service-delivery": deliveryId,
    "service-signature": signature,
  }).flat();

/** The largest body of a delivery and of a response. */
export const maxBodyBytes = 1024 * 1024;

export type DeliveryResult = { durationMs: number } & (
  | {
      status: number;
      /** Names and values in turn, as they arrived. */
      rawHeaders: readonly string[];
      body: Uint8Array;
    }
  | {
      /**
       * Why there was no response: `timeout`, `response-too-large`, or the code of the system, for
       * example `ECONNREFUSED`.
       */
      error: string;
    }
);

/**
 * Sends a delivery on a new connection, without redirects or decompression. Never rejects: no
 * response is a result too.
 */
export async function sendDelivery(delivery: {
  url: URL;
  /** Names and values in turn. */
  headers: readonly string[];
  body: Uint8Array;
  timeoutMs: number;
  /** Ends the delivery. */
  signal?: AbortSignal;
}): Promise<DeliveryResult> {
  const { url, headers, body, timeoutMs, signal } = delivery;
  const startedMs = performance.now();
  const getDuration = () => Math.round(performance.now() - startedMs);
  const timeout = AbortSignal.timeout(timeoutMs);
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  let request: ClientRequest | undefined;
  try {
    request = send(url, {
      method: "POST",
      agent: false,
      headers: ["host", url.host, ...headers, "content-length", String(body.byteLength)],
      signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
    });
    const response = await readResponse(request, body);
    const content = await readBounded(response, maxBodyBytes);
    if (content === undefined) return { error: "response-too-large", durationMs: getDuration() };
    const { statusCode: status = 0, rawHeaders } = response;
    return { status, rawHeaders, body: content, durationMs: getDuration() };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { error: timeout.aborted ? "timeout" : (code ?? message), durationMs: getDuration() };
  } finally {
    request?.destroy();
  }
}

function readResponse(request: ClientRequest, body: Uint8Array): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once("response", resolve);
    request.on("error", reject); // not removed: the connection can also break later
    request.end(body);
  });
}

/**
 * Why a delivery failed: the start of the response, which often says it, or why there was none.
 * @returns an empty text for a success.
 */
export function explainFailure(result: DeliveryResult, url: URL): string {
  if ("error" in result) return result.error;
  if (result.status >= 200 && result.status < 300) return "";
  if (result.status === 404) return describeNoRoute(url);
  return toLine(Buffer.from(result.body).toString());
}
