/** Ids that every queue takes, the same for every copy, and never the same for two events. */
import { expect, it } from "vitest";
import { checkedJobData, jobData, readableJobId } from "../src/job.ts";
import { uuidOf } from "../src/uuid-node.ts";

it("makes a UUID of version 5 of an event id", () => {
  const uuid = uuidOf({ id: "evt_123" });
  expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(uuidOf({ id: "evt_123" })).toBe(uuid);
  expect(uuidOf({ id: "evt_124" })).not.toBe(uuid);
  // Reckoned by another program; it may never change, or events of before an update would be new ones.
  expect(uuid).toBe("486fbc98-1e6e-5f6c-84d6-2965f3bd3de5");
});

it.each([
  ["evt_123", "event-evt_123"],
  ["123", "event-123"],
  ["a:b/c d", "event-a%3Ab%2Fc%20d"],
  ["é", "event-%C3%A9"],
  ["\uD800", "event-%EF%BF%BD"],
])("makes an id without separators of %o", (id, jobId) => {
  expect(readableJobId({ id })).toBe(jobId);
});

it("keeps body and time, and refuses the jobs of others", () => {
  const data = jobData(new TextEncoder().encode('{"é": 1.0}'), new Date(0));
  expect(checkedJobData(JSON.parse(JSON.stringify(data)))).toEqual({
    body: '{"é": 1.0}',
    receivedAt: "1970-01-01T00:00:00.000Z",
  });
  for (const other of [undefined, null, {}, { body: 1, receivedAt: "" }, "text"])
    expect(() => checkedJobData(other)).toThrow("This job was not put by an inbox");
  expect(() => jobData(new Uint8Array([0xff]), new Date(0))).toThrow("The body is not UTF-8");
});
