/** The grammar of the `Service-Signature` header: `t=<unix seconds>,v1=<hex>` (spec 5.5). */

export interface SignatureHeader {
  /** `t` exactly as received: it is part of the signed text. */
  timestamp: string;
  /** One or several signatures of 64 hex digits; any of them may match. */
  signatures: readonly string[];
}

export type SignatureFault = "missing-signature" | "malformed-signature";

const maxLength = 1024;
const maxSignatures = 5;
const timestampForm = /^\d{1,12}$/;
const signatureForm = /^[\da-f]{64}$/i; // SHA-256 in hex

/** Reads the header, or says what is wrong with it. Pairs of other names are ignored; a second `t` is not. */
export function parseSignature(
  header: string | readonly string[] | null | undefined,
): SignatureHeader | SignatureFault {
  const malformed = "malformed-signature";
  const line: unknown = Array.isArray(header) && header.length < 2 ? header[0] : header;
  if (line === undefined || line === null || line === "") return "missing-signature";
  if (typeof line !== "string" || line.length > maxLength) return malformed;

  let timestamp: string | undefined;
  let signatures: string[] | undefined;
  let start = 0;
  let comma: number;
  do {
    comma = line.indexOf(",", start);
    const end = comma < 0 ? line.length : comma;
    const equals = line.indexOf("=", start);
    if (equals <= start || equals >= end) return malformed;
    const name = line.slice(start, equals);
    const value = line.slice(equals + 1, end);
    if (name === "t") {
      if (timestamp !== undefined || !timestampForm.test(value)) return malformed;
      timestamp = value;
    } else if (name === "v1") {
      // spec 9: the scheme label
      if (signatures?.length === maxSignatures || !signatureForm.test(value)) return malformed;
      // One literal for the one there nearly always is: an empty array that grows makes room for seventeen.
      if (signatures === undefined) signatures = [value];
      else signatures.push(value);
    }
    start = end + 1;
    while (line[start] === " " || line[start] === "\t") start++;
  } while (comma >= 0);
  return timestamp === undefined || signatures === undefined ? malformed : { timestamp, signatures };
}
