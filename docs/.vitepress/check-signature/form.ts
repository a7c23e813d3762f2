/** The form of the page: what its fields mean as bytes, header lines and a time; and examples to fill in. */
import { signWebhook } from "../../../packages/webhook-verify/src/verify.ts";
import type { Delivery } from "./check-delivery.ts";

export type Encoding = "text" | "base64";

export interface Form {
  header: string;
  body: string;
  bodyEncoding: Encoding;
  /** What ends a line of a body that is text: a text area does not keep CR. */
  lineBreak: "LF" | "CRLF";
  secrets: string[];
  secretEncoding: Encoding;
  time: "current" | "fixed";
  /** Unix seconds or ISO 8601. */
  fixedTime: string;
  toleranceSeconds: number | string;
}

export const createForm = (): Form => ({
  header: "",
  body: "",
  bodyEncoding: "text",
  lineBreak: "LF",
  secrets: [""],
  secretEncoding: "text",
  time: "current",
  fixedTime: "",
  toleranceSeconds: 300,
});

/** Reads the fields in the fragment of an address, which a browser sends to no server. Undefined when there are none. */
export function readFragment(hash: string): Form | undefined {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const [header, body, secret] = ["header", "body", "secret"].map((name) => fields.get(name));
  if (header == null || body == null || secret == null) return undefined;
  return { ...createForm(), header, body, secrets: [secret] };
}

/** A value that cannot be read. `field` is the id of its input. */
export class FieldError extends Error {
  override readonly name = "FieldError";
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

/** @throws {FieldError} */
export function toDelivery(form: Form): Delivery {
  const secrets = form.secrets.map((secret, index) => {
    if (secret.trim() === "") throw new FieldError(`secret-${index}`, "Enter the signing secret.");
    if (form.secretEncoding === "base64") return decodeBase64(secret, `secret-${index}`);
    if (secret !== secret.trim())
      throw new FieldError(`secret-${index}`, "The secret has white space around it.");
    return secret;
  });
  const toleranceSeconds = form.toleranceSeconds === "" ? Number.NaN : Number(form.toleranceSeconds);
  if (!Number.isFinite(toleranceSeconds) || toleranceSeconds < 0)
    throw new FieldError("tolerance", "The tolerance must be a number of seconds, 0 or more.");
  const nowMs = form.time === "current" ? Date.now() : parseTime(form.fixedTime);
  return { signature: toLines(form.header), body: toBody(form), secrets, nowMs, toleranceSeconds };
}

/** The lines of the header, without its name. */
function toLines(header: string): string[] {
  const lines = header.split("\n").map((line) => {
    const named = /^\s*service-signature\s*:\s*(.*?)\s*$/i.exec(line);
    return named?.[1] ?? line;
  });
  while (lines.at(-1) === "") lines.pop();
  return lines;
}

/** The bytes of the body. @throws {FieldError} for invalid base64. */
export function toBody({ body, bodyEncoding, lineBreak }: Form): Uint8Array {
  if (bodyEncoding === "base64") return decodeBase64(body, "body");
  return new TextEncoder().encode(lineBreak === "CRLF" ? body.replaceAll("\n", "\r\n") : body);
}

function decodeBase64(text: string, field: string): Uint8Array {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    throw new FieldError(field, "This is not Base64.");
  }
}

export function encodeBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function parseTime(text: string): number {
  const ms = /^\s*\d{1,12}\s*$/.test(text) ? Number(text) * 1_000 : Date.parse(text.trim());
  if (Number.isFinite(ms)) return ms;
  throw new FieldError("fixed-time", "Enter unix seconds, or a time such as 2026-01-01T00:00:00Z.");
}

export const examples = {
  valid: "Valid delivery",
  "changed-body": "Body with an added line break",
  old: "Ten minutes old",
} as const;

/** A delivery that is signed now, as the service does. */
export async function createExample(kind: keyof typeof examples): Promise<Form> {
  const event = {
    id: "evt_2c3d4e",
    type: "balance.changed",
    createdAt: new Date().toISOString(),
    data: {
      passId: "card_8sT2kq",
      customerId: "cus_Yc1uQx",
      balance: 120,
      change: 120,
      operation: { id: "op_d3aVgq", type: "purchase" },
    },
  };
  const secret = "whsec_example_4fZr0nXqT1";
  const rawBody = JSON.stringify(event);
  const timestamp = Math.floor(Date.now() / 1_000) - (kind === "old" ? 600 : 0);
  return {
    ...createForm(),
    header: await signWebhook({ rawBody, secret, timestamp }),
    body: kind === "changed-body" ? `${rawBody}\n` : rawBody,
    secrets: [secret],
  };
}
