/** The checks of the page "Check a signature" agree with the verifier. */
import vectors from "@loyalty-cards/openapi/vectors" with { type: "json" };
import { expect, it } from "vitest";
import { checkDelivery } from "../../../docs/.vitepress/check-signature/check-delivery.ts";

const decode = (base64: string) => Buffer.from(base64, "base64");

it.each(vectors)("gives the verdict of the vector: $name", async ({ body, secrets, header, ...vector }) => {
  const report = await checkDelivery({
    signature: [header ?? ""].flat(),
    body: decode(body),
    secrets: secrets.map(decode),
    nowMs: vector.nowSeconds * 1_000,
    toleranceSeconds: vector.toleranceSeconds ?? 300,
  });
  expect(report.verdict).toBe(vector.verdict);
  expect(report.steps.some(({ status }) => status === "failed")).toBe(vector.verdict !== "valid");
});
