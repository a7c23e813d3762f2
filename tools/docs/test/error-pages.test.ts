/** Each code of the client and each reason of the receiver has its section of the page about errors, to which messages link. */
import type { IssuingErrorCode } from "@loyalty-cards/issuing-client";
import type { ReceiverOutcome } from "@loyalty-cards/webhook-verify";
import { expect, it } from "vitest";
import { reasons } from "../../../packages/webhook-verify/src/reasons.ts";
import { readFromRoot } from "../snippets.ts";

/** The compiler names a code that is missing here. */
const codes = {
  configuration: true,
  validation: true,
  unauthorized: true,
  forbidden: true,
  "not-found": true,
  conflict: true,
  "rate-limited": true,
  rejected: true,
  server: true,
  network: true,
  timeout: true,
  deadline: true,
  "invalid-response": true,
  "idempotency-expired": true,
} satisfies Record<IssuingErrorCode, true>;

const allReasons = { ...reasons, "handler-error": true } satisfies Record<
  Extract<ReceiverOutcome, { reason: unknown }>["reason"],
  unknown
>;

it("there is a section for each code and reason, and no other one", () => {
  const headings = readFromRoot("docs/errors.md").matchAll(/^### (.+)$/gm);
  const expected = [...Object.keys(codes), ...Object.keys(allReasons).map((reason) => `webhook-${reason}`)];
  expect(Array.from(headings, ([, heading]) => heading).sort()).toEqual(expected.sort());
});
