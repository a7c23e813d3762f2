/** What anybody can send to a public address, and what only a broken sender would. */
import { checks, each, refused, survived } from "./check.ts";

export const hostile = checks({
  "signed-nonsense": {
    clause: "5.7",
    sends: "signed bodies that are no events: nothing, a list, no JSON, no UTF-8",
    judged: survived,
    advice:
      "Answer 400 to what is signed and no event; a 5xx makes the service send it again for nine hours.",
    shipments: (bench) =>
      each(["", "[]", "hello", Uint8Array.of(0x7b, 0xff, 0x7d)], (body) => bench.genuine(body)),
  },
  "contradicting-header": {
    clause: "6.1",
    sends: "a genuine event under headers that call it something else",
    judged: survived,
    advice: "Decide by the type in the body: Service-Event and Service-Delivery are not signed.",
    shipments: (bench) =>
      each(["card.removed", "constructor", "__proto__"], async (name) => {
        const { headers, body } = await bench.genuine();
        return { headers: { ...headers, "service-event": name }, body };
      }),
  },
  "long-header": {
    clause: "5.8",
    sends: "a signature header of 4 KiB",
    judged: refused,
    advice: "Refuse a signature header of more than a kibibyte.",
    shipments: async (bench) => [bench.under(`t=${bench.nowSeconds()}${",v1=00".repeat(700)}`)],
  },
  get: {
    clause: "6.1",
    sends: "a GET",
    judged: refused,
    isAdvisory: true,
    advice: "Let the route answer POST alone, and 405 to everything else.",
    shipments: async () => [{ method: "GET", headers: {} }],
  },
});
