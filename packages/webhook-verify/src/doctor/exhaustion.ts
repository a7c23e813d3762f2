/** Two deliveries that cost the receiver memory and patience: one without an end in sight, one without an end. */
import { type Check, inWords } from "./check.ts";

const chunk = new Uint8Array(64 * 1024).fill(0x20);

export function oversized(bytes: number): Check {
  let taken = 0;
  return {
    clause: "5.7",
    sends: `a body of ${Math.round(bytes / 1024 / 1024)} MiB under a forged signature`,
    judged: () => (taken >= bytes ? "read to its end" : undefined),
    isAdvisory: true,
    advice: "Stop reading at a limit (1 MiB is plenty) and answer 413: anybody can send this.",
    shipments: async (bench) => {
      async function* spaces() {
        for (let sent = 0; sent < bytes; sent += chunk.byteLength) {
          yield chunk;
          taken += chunk.byteLength; // asked for more, so the connection took it
        }
      }
      const { headers } = bench.under(`t=${bench.nowSeconds()},v1=${"0".repeat(64)}`);
      return [{ headers, body: spaces }];
    },
  };
}

export const stalled: Check = {
  clause: "6.3.1",
  sends: "half a delivery, and then nothing",
  judged: (answer) => (answer.fault === "too-slow" ? inWords(answer) : undefined),
  isAdvisory: true,
  advice: "Give up on a body that does not come, with 408 or by hanging up, within ten seconds.",
  shipments: async (bench) => {
    const { headers, body } = await bench.genuine();
    async function* half() {
      yield new TextEncoder().encode((body as string).slice(0, 20));
      await new Promise(() => {}); // ends with the request
    }
    return [{ headers, body: half }];
  },
};
