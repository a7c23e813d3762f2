/** Each code of the client and each reason of the receiver has its page, to which messages link, and its row in the index. */
import { readdirSync } from "node:fs";
import type { IssuingErrorCode } from "@loyalty-cards/issuing-client";
import type { ReceiverOutcome } from "@loyalty-cards/webhook-verify";
import { expect, it } from "vitest";
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

const reasons = {
  "missing-signature": true,
  "malformed-signature": true,
  stale: true,
  future: true,
  mismatch: true,
  "invalid-payload": true,
  "too-large": true,
  unreadable: true,
  "method-not-allowed": true,
  "unsupported-encoding": true,
  timeout: true,
  "already-consumed": true,
  "invalid-clock": true,
  "no-secret": true,
  "secret-timeout": true,
  "handler-error": true,
} satisfies Record<Extract<ReceiverOutcome, { reason: unknown }>["reason"], true>;

const pages = [...Object.keys(codes), ...Object.keys(reasons).map((reason) => `webhook-${reason}`)].sort();

it("there is a page for each code and reason, and no other one", () => {
  const files = readdirSync(new URL("../../../docs/errors", import.meta.url));
  expect(files.sort()).toEqual([...pages, "README"].map((name) => `${name}.md`).sort());
});

it("the index lists each page", () => {
  const rows = readFromRoot("docs/errors/README.md").matchAll(/^\| \[[\w-]+\]\(([\w-]+)\.md\)/gm);
  expect(Array.from(rows, ([, name]) => name).sort()).toEqual(pages);
});
