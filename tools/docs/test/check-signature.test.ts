/** The checks of the page "Check a signature" agree with the verifier, and name what is wrong. The browser suite tests the page itself. */
import vectors from "@loyalty-cards/openapi/vectors" with { type: "json" };
import { expect, it } from "vitest";
import { checkDelivery } from "../../../docs/.vitepress/check-signature/check-delivery.ts";
import {
  createForm,
  encodeBase64,
  type Form,
  toDelivery,
} from "../../../docs/.vitepress/check-signature/form.ts";

const decode = (base64: string) => Buffer.from(base64, "base64");
const [valid] = vectors;
if (valid === undefined) throw new Error("There are no vectors.");

const createValidForm = (changes: Partial<Form> = {}): Form => ({
  ...createForm(),
  header: String(valid.header),
  body: decode(valid.body).toString(),
  secrets: valid.secrets.map((secret) => decode(secret).toString()),
  time: "fixed",
  fixedTime: String(valid.nowSeconds),
  ...changes,
});

it.each(vectors)("gives the verdict of the vector: $name", async ({ body, secrets, header, ...vector }) => {
  const report = await checkDelivery({
    signature: [header ?? ""].flat(),
    body: decode(body),
    secrets: secrets.map(decode),
    nowMs: vector.nowSeconds * 1_000,
    toleranceSeconds: vector.toleranceSeconds ?? 300,
  });
  expect(report.verdict).toBe(vector.verdict);
  const failed = report.steps.filter(({ status }) => status === "failed");
  expect(failed.length > 0).toBe(vector.verdict !== "valid");
  for (const { details } of failed) expect(details.length).toBeGreaterThan(10);
});

const v1 = "0".repeat(64);
it.each([
  ["", "no Service-Signature header"],
  [`t=1,v1=${v1}\nt=1,v1=${v1}`, "more than once"],
  [`v1=${v1}`, "no t=<unix seconds>"],
  [`t=soon,v1=${v1}`, "1 to 12 digits"],
  ["t=1", "no v1="],
  [`t=1,v1=${v1.slice(1)}`, "one has 63 characters."],
  [`t=1,v1=${v1.slice(1)}x`, "one has 64 characters, and not all are hex digits."],
  [`t=1${`,v1=${v1}`.repeat(6)}`, "There are 6 v1."],
  [`t=1,${v1}`, "must be name=value"],
  [` t=1,v1=${v1}`, "white space around the value"],
  [`t=1,x=${"a".repeat(1_100)},v1=${v1}`, "At most 1024"],
])("says what is wrong with the header %j", async (header, details) => {
  const { steps } = await checkDelivery(toDelivery(createValidForm({ header })));
  expect(steps.find(({ status }) => status === "failed")?.details).toContain(details);
});

it.each([
  [{ secrets: [""] }, "secret-0"],
  [{ secrets: ["whsec_1", " whsec_2"] }, "secret-1"],
  [{ bodyEncoding: "base64", body: "{}" }, "body"],
  [{ fixedTime: "soon" }, "fixed-time"],
  [{ toleranceSeconds: "" }, "tolerance"],
] as const)("names the field that cannot be read: %j", (changes, field) => {
  expect(() => toDelivery(createValidForm(changes as Partial<Form>))).toThrow(
    expect.objectContaining({ field }),
  );
});

it("reads a body as Base64, and a header with its name", () => {
  const body = encodeBase64(new Uint8Array([0, 255]));
  const header = `service-signature: ${valid.header}\n`;
  const delivery = toDelivery(createValidForm({ bodyEncoding: "base64", body, header }));
  expect(delivery).toMatchObject({ body: new Uint8Array([0, 255]), signature: [valid.header] });
});
