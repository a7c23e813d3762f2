/** The signature vectors, converted to inputs of the verifier. */
import signatures from "@loyalty-cards/openapi/vectors" with { type: "json" };

export interface Vector {
  name: string;
  rawBody: Uint8Array;
  secrets: Uint8Array[];
  /** A list for several header lines. */
  signature: string | string[] | undefined;
  nowMs: number;
  toleranceSeconds: number;
  verdict: string;
}

export const signatureVectors: readonly Vector[] = signatures.vectors.map((vector) => ({
  name: vector.name,
  rawBody: Buffer.from(vector.body, "base64"),
  secrets: vector.secrets.map((secret) => Buffer.from(secret, "base64")),
  signature: vector.header.length > 1 ? vector.header : vector.header[0],
  nowMs: vector.nowSeconds * 1000,
  toleranceSeconds: vector.toleranceSeconds,
  verdict: vector.reason ?? "valid",
}));
