/** A process of the fleet with adjustable clocks: it sends its port to the parent, and receives milliseconds. */
import { openReceiver } from "../receiver.ts";

let offsetMs = 0;
const { app, close } = await openReceiver({
  databaseUrl: process.env["DATABASE_URL"] ?? "",
  schema: process.env["DATABASE_SCHEMA"] ?? "",
  now: () => Date.now() + offsetMs,
  testing: { clock: { monotonicMs: () => performance.now() + offsetMs } },
  onOutcome: ({ status, ...outcome }) =>
    process.send?.({
      status,
      secretId: "secretId" in outcome ? outcome.secretId : undefined,
    }),
});
process.on("message", (message: { forwardMs?: number }) => {
  if (message.forwardMs === undefined)
    return void close().then(() => process.exit(0));
  offsetMs += message.forwardMs;
  process.send?.({ isForward: true });
});
const address = await app.listen({ port: 0, host: "127.0.0.1" });
process.send?.({ port: Number(new URL(address).port) });
