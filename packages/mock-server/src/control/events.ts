/** The route that tells every change as a server-sent event, so that the console is live. */
import type { Change } from "../domain/changes.ts";
import type { World } from "../world.ts";
import type { ControlRoute } from "./route.ts";

/** How many messages may wait for a reader who is slow. */
const mostWaiting = 1_000;

export const eventRoutes: ControlRoute[] = [
  {
    method: "GET",
    path: "/_mock/events",
    run: ({ world }) => ({
      status: 200,
      content: changesOf(world),
      headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
    }),
  },
];

function changesOf(world: World): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let stop = () => {};
  let hasLeftOut = false;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(encoder.encode('event: hello\ndata: {"type":"hello"}\n\n'));
        stop = world.changes.listen((change) => {
          if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(messageOf(change)));
          else hasLeftOut = true;
        });
      },
      pull(controller) {
        if (!hasLeftOut) return;
        hasLeftOut = false;
        controller.enqueue(encoder.encode(messageOf({ type: "reset" })));
      },
      cancel: () => stop(),
    },
    { highWaterMark: mostWaiting },
  );
}

const messageOf = (change: Change) => `event: ${change.type}\ndata: ${JSON.stringify(change)}\n\n`;
