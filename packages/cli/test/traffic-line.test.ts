/** The lines of `dev` and `exec` about requests and deliveries. */
import { stripVTControlCharacters } from "node:util";
import type { TrafficEvent } from "@loyalty-cards/mock-server/node";
import { expect, it } from "vitest";
import { Printer, type Terminal } from "../src/printer.ts";
import { createTrafficPrinter } from "../src/traffic-line.ts";

/** Prints events on a terminal. @returns the lines without the time of day, which depends on the time zone. */
function print(events: readonly TrafficEvent[], columns = 200): string[] {
  let output = "";
  const stream = { isTTY: true, columns, write: (text: string) => (output += text) };
  const printTraffic = createTrafficPrinter(
    new Printer({ stdout: stream, stderr: stream, env: {} } as unknown as Terminal),
  );
  for (const event of events) printTraffic(event);
  return stripVTControlCharacters(output)
    .trimEnd()
    .split("\n")
    .map((line) => line.replace(/^\d\d:\d\d:\d\d {2}/, ""));
}

const request: TrafficEvent = {
  kind: "request",
  method: "POST",
  path: "/api/v1/templates/tpl_mock/passes",
  status: 201,
  durationMs: 3,
};
const delivered: TrafficEvent = {
  kind: "delivery",
  type: "balance.changed",
  eventId: "evt_1",
  deliveryId: "dlv_1",
  url: "http://localhost:3000/webhooks/loyalty",
  attempt: 1,
  status: 204,
  durationMs: 2,
  state: "delivered",
};
const failed: TrafficEvent = { ...delivered, status: 401, state: "pending", nextAttemptInMs: 60_000 };

it("ends the line with the reason, the card and `replay`, or the fault of a broken connection", () => {
  const { status: _status, ...broken } = request;
  expect(
    print([
      { ...request, status: 422, reason: "customer.consents is missing" },
      { ...request, cardId: "card_1", reason: "replay" },
      { ...broken, reason: "injected fault: destroy" },
      delivered,
    ]),
  ).toEqual([
    "422     3 ms  ← POST /templates/tpl_mock/passes  customer.consents is missing",
    "201     3 ms  ← POST /templates/tpl_mock/passes  card_1  replay",
    "---     3 ms  ← POST /templates/tpl_mock/passes  injected fault: destroy",
    "204     2 ms  → balance.changed  evt_1",
  ]);
});

it("says when the next attempt is, and why by the start of the response", () => {
  const { status: _status, ...unanswered } = failed;
  const { nextAttemptInMs: _next, ...last } = failed;
  expect(
    print([
      { ...failed, responseStart: "signature\n  mismatch" },
      { ...unanswered, error: "no response within 10 s" },
      { ...last, attempt: 6, state: "failed" },
    ]),
  ).toEqual([
    "401     2 ms  → balance.changed  evt_1  attempt 1, next in 1 min: signature mismatch",
    "---     2 ms  → balance.changed  evt_1  attempt 1, next in 1 min: no response within 10 s",
    "401     2 ms  → balance.changed  evt_1  attempt 6, no more",
  ]);
});

it("prints warnings below their request, and what does not fit in 80 columns, aligned", () => {
  const warnings = ["fieldValues has a key that template tpl_mock does not have: nmae (did you mean name?)"];
  const reason = "customer.phone: The phone number is not valid";
  const indentation = " ".repeat(24);
  expect(print([{ ...request, status: 422, reason, warnings }], 80)).toEqual([
    "422     3 ms  ← POST /templates/tpl_mock/passes",
    `${indentation}${reason}`,
    `${indentation}warning: fieldValues has a key that template tpl_mock`,
    `${indentation}does not have: nmae (did you mean name?)`,
  ]);
});
