/** Writes an answer to a connection, or does to the connection what a fault asks for. */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Answer } from "../http/reply.ts";

export async function write(answer: Answer, outgoing: ServerResponse): Promise<void> {
  const { status, headers, content, fault } = answer;
  const { socket } = outgoing;
  if (fault === "hang") return;
  if (fault !== undefined && socket !== null) {
    if (fault === "reset") socket.resetAndDestroy();
    else if (fault === "destroy") socket.destroy();
    else writeHalf(answer, fault, socket);
    return;
  }
  if (content instanceof ReadableStream) {
    outgoing.writeHead(status, headers);
    outgoing.flushHeaders();
    // Whoever reads may leave at any time.
    await pipeline(Readable.fromWeb(content as never), outgoing).catch(() => {});
    return;
  }
  if (content !== null) headers["content-length"] = String(Buffer.byteLength(content));
  outgoing.writeHead(status, headers).end(content ?? undefined);
}

/** By hand, because Node's own response would be whole. */
function writeHalf(
  { status, headers, content }: Answer,
  fault: "truncate" | "malformed",
  socket: Socket,
): void {
  const body = Buffer.from(
    typeof content === "string" ? content : content instanceof Uint8Array ? content : "",
  );
  const half = body.subarray(0, body.length >> 1);
  const framing =
    fault === "truncate" ? `content-length: ${Math.max(body.length, 2)}` : "transfer-encoding: chunked";
  const lines = [
    `HTTP/1.1 ${status} `,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.write(`${[...lines, framing, "connection: close"].join("\r\n")}\r\n\r\n`);
  if (fault === "truncate") socket.write(half);
  else socket.write(`${half.length.toString(16)}\r\n${half.toString("latin1")}\r\nnot a chunk\r\n`, "latin1");
  socket.end();
}
