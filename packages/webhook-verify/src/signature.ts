/** The grammar of the `Service-Signature` header: `t=<unix seconds>,v1=<hex>` (spec 5.5). */

export interface SignatureHeader {
  /** `t` exactly as received: it is part of the signed text. */
  timestamp: string;
  /** One or several signatures of 32 bytes; any of them may match. */
  signatures: readonly Uint8Array[];
}

export type SignatureFault = "missing-signature" | "malformed-signature";

const maxLength = 1024;
const maxSignatures = 5;
const timestampForm = /^[0-9]{1,12}$/;
const signatureForm = /^[0-9a-f]{64}$/i; // SHA-256 in hex

/** Reads the header, or says what is wrong with it. Pairs of other names are ignored; a second `t` is not. */
export function parseSignature(
  header: string | readonly string[] | null | undefined,
): SignatureHeader | SignatureFault {
  if (header === undefined || header === null) return "missing-signature";
  const lines: readonly unknown[] = Array.isArray(header) ? header : [header];
  const [line] = lines;
  if (line === undefined || line === "") return "missing-signature";
  if (lines.length > 1 || typeof line !== "string" || line.length > maxLength) return "malformed-signature";

  let timestamp: string | undefined;
  const signatures: Uint8Array[] = [];
  for (const [index, part] of line.split(",").entries()) {
    const pair = index === 0 ? part : part.replace(/^[ \t]+/, "");
    const equals = pair.indexOf("=");
    if (equals < 1) return "malformed-signature";
    const value = pair.slice(equals + 1);
    switch (pair.slice(0, equals)) {
      case "t":
        if (timestamp !== undefined || !timestampForm.test(value)) return "malformed-signature";
        timestamp = value;
        break;
      case "v1": // spec 9: the scheme label
        if (signatures.length === maxSignatures || !signatureForm.test(value)) return "malformed-signature";
        signatures.push(fromHex(value));
        break;
    }
  }
  if (timestamp === undefined || signatures.length === 0) return "malformed-signature";
  return { timestamp, signatures };
}

export function formatSignature(timestamp: string, signature: Uint8Array): string {
  let hex = "";
  for (const byte of signature) hex += byte.toString(16).padStart(2, "0");
  return `t=${timestamp},v1=${hex}`;
}

function fromHex(hex: string): Uint8Array {
  const bytes = new Uint8Array(hex.length / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16);
  return bytes;
}
