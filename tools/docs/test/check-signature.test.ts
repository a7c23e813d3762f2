/** The checks of the page "Check a signature" agree with the verifier. */
import signatures from "@loyalty-cards/openapi/vectors" with { type: "json" };
import { expect, it } from "vitest";
import { checkDelivery } from "../../../docs/.vitepress/check-signature/check-delivery.ts";

const decode = (base64: string) => Buffer.from(base64, "base64");

it.each(signatures.vectors)(
  "gives the verdict of the vector: $name",
  async ({ body, secrets, ...vector }) => {
    const report = await checkDelivery({
      signature: vector.header,
      body: decode(body),
      secrets: secrets.map(decode),
      nowMs: vector.nowSeconds * 1_000,
      toleranceSeconds: vector.toleranceSeconds,
    });
    expect(report.verdict).toBe(vector.reason ?? "valid");
    expect(report.steps.some(({ status }) => status === "failed")).toBe(vector.verdict !== "valid");
  },
);
