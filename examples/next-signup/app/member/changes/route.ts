/** A stream that says "something changed" to a member's open page; the page then asks for itself anew. */
import { listen } from "../../../shop/changes";
import { currentMember } from "../../../shop/session";
import { stampOf } from "../../../shop/stamp";

const heartbeatMs = 20_000; // proxies end what is silent

export async function GET(request: Request): Promise<Response> {
  const member = await currentMember();
  if (member === undefined) return new Response(null, { status: 204 }); // tells an EventSource to give up
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
      const isNew = (await stampOf(member.id)) !== new URL(request.url).searchParams.get("shown");
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
      connection: "close", // else the next stream comes in here, and a server that ends has to wait for it
    },
  });
}
