/** The lines of `dev` and `exec` about requests and deliveries: the reason of a failure, and bursts. */
import { stripVTControlCharacters } from "node:util";
import type { TrafficEvent } from "@loyalty-cards/mock-server/node";
import { expect, it } from "vitest";
import { text } from "../src/printable.ts";
import { createTrafficLog } from "../src/webhook/traffic-line.ts";

/** A log on a clock that the test moves, with a tick that it calls. */
function openLog(columns = 200, headerAfter = Number.POSITIVE_INFINITY) {
  const lines: string[] = [];
  let nowMs = 0;
  let tick: (() => void) | undefined;
  const log = createTrafficLog({
    columns,
    write: (line) => lines.push(...stripVTControlCharacters(String(line)).split("\n")),
    header: { text: text`the secret`, afterLines: headerAfter },
    nowMs: () => nowMs,
    repeat(run) {
      tick = run;
      return () => {
        tick = undefined;
      };
    },
  });
  return {
    ...log,
    lines,
    /** Without the time of day, which depends on the time zone. */
    subjects: () => lines.map((line) => line.slice(10)),
    pass(ms: number) {
      for (const end = nowMs + ms; nowMs < end; ) {
        nowMs += 500;
        tick?.();
      }
    },
    isTicking: () => tick !== undefined,
  };
}

const issued: TrafficEvent = {
  kind: "request",
  method: "POST",
  path: "/api/v1/templates/tpl_mock/passes",
  status: 201,
  durationMs: 3,
  cardId: "card_1",
};
const { cardId: _, ...withoutCard } = issued;
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

it("ends the line with the reason, the card and `replay`, or the fault of a broken connection", () => {
  const { add, subjects } = openLog();
  add({ ...withoutCard, status: 422, reason: "customer.consents is missing" });
  add({ ...withoutCard, status: 401, reason: "unknown key" });
  add({ ...issued, reason: "replay" });
  const { status: _status, ...broken } = withoutCard;
  add({ ...broken, fault: "destroy", reason: "injected fault: destroy" });
  expect(subjects()).toEqual([
    "422     3 ms  ← POST /templates/tpl_mock/passes  customer.consents is missing",
    "401     3 ms  ← POST /templates/tpl_mock/passes  unknown key",
    "201     3 ms  ← POST /templates/tpl_mock/passes  card_1  replay",
    "---     3 ms  ← POST /templates/tpl_mock/passes  injected fault: destroy",
  ]);
});

it("puts a reason that does not fit on the next line, in 80 columns", () => {
  const { add, lines } = openLog(80);
  add({ ...withoutCard, status: 422, reason: "customer.phone: The phone number is not valid" });
  expect(lines.slice(1)).toEqual([`${" ".repeat(24)}customer.phone: The phone number is not valid`]);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
});

it("writes two lines for a burst of 1,000 requests and two for its deliveries", () => {
  const { add, pass, subjects, isTicking } = openLog();
  for (let count = 0; count < 1_000; count++) {
    add({ ...issued, cardId: `card_${count}` });
    add({ ...delivered, eventId: `evt_${count}` });
    if (count % 500 === 499) pass(500);
  }
  pass(1_000);
  expect(subjects()).toEqual([
    "201     3 ms  ← POST /templates/tpl_mock/passes  card_0",
    "204     2 ms  → balance.changed  evt_0",
    "201           ← POST /templates/tpl_mock/passes  999 more in 1 s",
    "204           → balance.changed  999 more in 1 s",
  ]);
  expect(isTicking()).toBe(false);
});

it("writes the second of two equal lines as it is", () => {
  const { add, pass, subjects } = openLog();
  add(issued);
  add({ ...issued, cardId: "card_2" });
  pass(1_500);
  expect(subjects().at(-1)).toBe("201     3 ms  ← POST /templates/tpl_mock/passes  card_2");
});

it("counts requests for different cards together, and those with another reason apart", () => {
  const { add, end, subjects } = openLog();
  const get = { ...withoutCard, method: "GET", status: 404, reason: "There is no card with this id" };
  for (let count = 0; count < 4; count++) add({ ...get, path: `/api/v1/passes/card_${count}/consent` });
  add({ ...get, path: "/api/v1/passes/card_9/consent", status: 401, reason: "unknown key" });
  end();
  expect(subjects()).toEqual([
    "404     3 ms  ← GET /passes/card_0/consent  There is no card with this id",
    "401     3 ms  ← GET /passes/card_9/consent  unknown key",
    "404           ← GET /passes/*/consent  There is no card with this id  3 more in 1 s",
  ]);
});

it("writes the count of a burst that goes on every 10 seconds, and the first line after a pause at once", () => {
  const { add, pass, lines } = openLog();
  for (let count = 0; count < 60; count++) {
    add(issued);
    pass(500);
  }
  expect(lines).toHaveLength(1 + 3);
  pass(1_000);
  const before = lines.length;
  add(issued);
  expect(lines.slice(before)).toEqual([expect.stringContaining("card_1")]);
});

it("repeats the header in the pause after different lines have scrolled it out of the terminal", () => {
  const { add, pass, lines } = openLog(200, 20);
  const get = (number: number) => add({ ...withoutCard, method: "GET", path: `/api/v1/other/${number}` });
  for (let number = 0; number < 19; number++) get(number);
  pass(1_500);
  expect(lines).toHaveLength(19);
  for (let number = 0; number < 50; number++) {
    get(number);
    pass(500);
  }
  expect(lines).not.toContain("the secret"); // between the lines it would scroll away too
  pass(1_500);
  expect(lines.slice(69)).toEqual(["the secret"]);
  get(0);
  pass(1_500);
  expect(lines.slice(70)).toEqual([expect.stringContaining("/other/0")]);
});
