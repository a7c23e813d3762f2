/** An event stream that notifies a member's open page of changes; the page then reloads its data. */
import { isStopping, subscribe } from "../../../shop/events";
import { currentMember } from "../../../shop/session";

const heartbeatMs = 20_000; // proxies close idle connections

const headers = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
  connection: "close", // otherwise the next stream uses this connection, and a stopping server has to wait for it
};

export async function GET(request: Request): Promise<Response> {
  const member = await currentMember();
  if (member === undefined) return new Response(null, { status: 204 }); // an EventSource does not reconnect after a 204
  if (isStopping()) return new Response("", { headers }); // the browser connects to the next server
  const encoder = new TextEncoder();
  let end = () => {};
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      const send = (text: string) => controller.enqueue(encoder.encode(text));
      const unsubscribe = subscribe(member.id, {
        update: () => send("data: changed\n\n"),
        close() {
          end();
          controller.close();
        },
      });
      const heartbeat = setInterval(send, heartbeatMs, ":\n\n");
      end = () => {
        unsubscribe();
        clearInterval(heartbeat);
      };
      request.signal.addEventListener("abort", end);
      send(":\n\n");
    },
    cancel: () => end(),
  });
  return new Response(stream, { headers });
}
