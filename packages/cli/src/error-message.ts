/** What a command prints about an error of the client: what is wrong, what to do, and the exit code. */
import type { IssuingError } from "@loyalty-cards/issuing-client";
import type { GlobalOptions } from "./command.ts";
import { exitCodes } from "./command-error.ts";
import { Text } from "./printable.ts";

/** The options that set a member of the request. */
const optionsByPointer: Readonly<Record<string, string>> = {
  "/customer/phone": "--phone",
  "/customer/email": "--email",
  "/customer/name": "--name",
  "/customer/consents/privacy/version": "--privacy",
  "/customer/consents/marketing/version": "--marketing",
  "/version": "--version",
};

/** For a request that may have issued a card. */
export const repeatAdvice =
  "A card may have been issued. Run the same command again within 24 hours: its key is the same, so there is one card.";

/** Formats an error. Of the text of the service it contains only the reasons of a 422. @param globals name the source of the address. */
export function formatError(error: IssuingError, globals: AddressOption): Text {
  const { code } = error;
  const { text, link } = splitMessage(error, globals);
  const lines = [
    code === "validation" ? nameOptions(text) : text,
    ...listReasons(error),
    describeNext(error),
    link,
  ];
  return Text.lines(lines.filter((line) => line !== undefined));
}

/** The service's own text of a 422. It can quote a customer, whose data the person at the terminal typed. */
function listReasons(error: IssuingError): string[] {
  if (error.code !== "validation") return [];
  const detail = getDetail(error);
  const fields = error.fields.filter(
    (field) => field.detail !== undefined || !error.message.includes(field.pointer),
  );
  return [
    ...(detail === undefined ? [] : [`The service says: ${detail}`]),
    ...fields.map((field) => `  ${nameOptions(field.pointer)}${field.detail ? `: ${field.detail}` : ""}`),
  ];
}

/** The `detail` of a 422, when it can be shown. */
function getDetail(error: IssuingError): string | undefined {
  const { problem } = error;
  return error.code === "validation" && problem?.detail === error.userMessage ? problem.detail : undefined;
}

function describeNext(error: IssuingError): string | undefined {
  const { code, outcome, idempotencyKey } = error;
  if (outcome === "unknown" && idempotencyKey !== undefined) return repeatAdvice;
  const isConfiguration = code === "network" || code === "timeout" || isKeyRefused(error);
  return isConfiguration ? "`loyalty-cards doctor` checks the configuration." : undefined;
}

/** The message of an error of our packages, and the sentence with the address of its page, which gets its own line. */
export function splitMessage(
  { message }: Pick<Error, "message">,
  globals?: AddressOption,
): { text: string; link?: string } {
  const [link = ""] = / See https:\S+$/.exec(message) ?? [];
  const text = nameVariables(message.slice(0, message.length - link.length), globals);
  return link === "" ? { text } : { text, link: link.trim() };
}

type AddressOption = Pick<GlobalOptions, "baseUrl">;

/** What a person at a terminal sets, in the place of the options of the client. */
export const nameVariables = (message: string, { baseUrl }: AddressOption = {}) =>
  message
    .replace(/ For a service on a private network, set allowInsecureHttp: true\./, "")
    .replace(/\b(?:the )?baseUrl\b/g, baseUrl === undefined ? "LOYALTY_URL" : "--base-url")
    .replace(/\b(?:the )?apiKey\b/g, "LOYALTY_API_KEY")
    .replace(/\bidempotencyNamespace\b/g, "LOYALTY_IDEMPOTENCY_NAMESPACE");

/** Why the service rejected a row: its own text of a 422, when there is one. */
export function describeRejection({
  message,
  userMessage,
}: Pick<IssuingError, "message" | "userMessage">): string {
  const { text } = splitMessage({ message });
  return withoutHint(text) === text ? text : userMessage;
}

/** The hint is for programs, which have `userMessage`. */
const withoutHint = (message: string) => message.replace(/[:.] userMessage says what to correct\.$/, ".");

/** Adds to each pointer the option that sets it. */
const nameOptions = (message: string) =>
  withoutHint(message).replace(/\/[\p{L}\p{N}_/-]+/gu, (pointer) => {
    const key = /^\/fieldValues\/(.+)$/.exec(pointer)?.[1];
    const option = key === undefined ? optionsByPointer[pointer] : `--field ${key}=…`;
    return option === undefined ? pointer : `${pointer} (${option})`;
  });

const isKeyRefused = ({ code }: IssuingError) => code === "unauthorized" || code === "forbidden";

export function toExitCode(error: IssuingError): number {
  if (isKeyRefused(error)) return exitCodes.keyRefused;
  return error.code === "configuration" ? exitCodes.usage : exitCodes.failed;
}
