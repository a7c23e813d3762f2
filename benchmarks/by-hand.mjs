/** The baseline of the verifier's benchmarks: a plain verification, and an event of a given size. */
import { createHmac, timingSafeEqual } from "node:crypto";

/** A minimal implementation of the specification. */
export function byHand(body, header, secret) {
  const pairs = Object.fromEntries(header.split(",").map((pair) => pair.split("=")));
  const t = Number(pairs.t);
  if (!Number.isFinite(t) || Math.abs(Date.now() / 1000 - t) > 300) throw new Error("stale");
  const expected = createHmac("sha256", secret).update(`${pairs.t}.`).update(body).digest();
  const given = Buffer.from(pairs.v1 ?? "", "hex");
  if (given.length !== expected.length || !timingSafeEqual(expected, given)) throw new Error("mismatch");
  return JSON.parse(body.toString("utf8"));
}

/** A valid event with exactly this many bytes of JSON. */
export function eventText(bytes) {
  const event = {
    id: "evt_1",
    type: "balance.changed",
    createdAt: "2026-01-01T00:00:00.000Z",
    data: {
      passId: "card_1",
      customerId: "cus_1",
      balance: 120,
      change: 120,
      operation: { id: "op_1", type: "purchase" },
      note: "",
    },
  };
  event.data.note = "x".repeat(bytes - JSON.stringify(event).length);
  return JSON.stringify(event);
}
