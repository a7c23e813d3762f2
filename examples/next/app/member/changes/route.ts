/** An event stream that notifies a member's open page of changes; the page then reloads its data. */
import { listen } from "../../../shop/changes";
import { createStamp } from "../../../shop/members";
import { currentMember } from "../../../shop/session";

const heartbeatMs = 20_000; // proxies close idle connections

export async function GET(request: Request): Promise<Response> {
  const member = await currentMember();
  if (member === undefined) return new Response(null, { status: 204 }); // an EventSource does not reconnect after a 204
  const encoder = new TextEncoder();
  let end = () => {};
  const stream = new ReadableStream<Uint8Array>({
    async start(controller) {
      const send = (text: string) => controller.enqueue(encoder.encode(text));
      const stopListening = listen(member.id, {
        changed: () => send("data: changed\n\n"),
        over() {
          end();
          controller.close();
        },
      });
      const heartbeat = setInterval(send, heartbeatMs, ":\n\n");
      end = () => {
        stopListening();
        clearInterval(heartbeat);
      };
      request.signal.addEventListener("abort", end);
      const isNew =
        (await createStamp(member.id)) !==
        new URL(request.url).searchParams.get("shown");
      if (request.signal.aborted) return end();
      send(isNew ? "data: changed\n\n" : ":\n\n");
    },
    cancel: () => end(),
  });
  return new Response(stream, {
    headers: {
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      connection: "close", // otherwise the next stream uses this connection, and a stopping server has to wait for it
    },
  });
}
