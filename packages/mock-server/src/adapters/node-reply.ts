/** Writes a reply to a socket, or breaks the connection as its injected fault says. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Reply } from "../http/reply.ts";

/**
 * To respond and close while the client is still sending would reset the connection, so the rest of the body is read first. Without
 * its listeners: that of the body as a web stream, of which nobody reads the rest, would pause it.
 */
export function sendReply(reply: Reply, incoming: IncomingMessage, outgoing: ServerResponse): void {
  if (incoming.complete || reply.fault !== undefined) writeReply(reply, outgoing);
  else
    incoming
      .removeAllListeners("data")
      .resume()
      .once("end", () => writeReply(reply, outgoing));
}

function writeReply(reply: Reply, outgoing: ServerResponse): void {
  const { status, headers, body, fault } = reply;
  const { socket } = outgoing;
  if (fault === "hang" || socket === null) return;
  if (fault === "reset") socket.resetAndDestroy();
  else if (fault === "destroy") socket.destroy();
  else if (fault !== undefined) writeHalf(reply, socket);
  else if (body === null) outgoing.writeHead(status, headers).end();
  else outgoing.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) }).end(body);
}

/** Writes half of the response to the socket itself, because Node always completes a response. */
function writeHalf({ status, headers, body }: Reply, socket: Socket): void {
  const bytes = Buffer.from(body ?? "");
  const lines = [
    `HTTP/1.1 ${status} `,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${Math.max(bytes.length, 2)}`,
    "connection: close",
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  socket.end(bytes.subarray(0, bytes.length >> 1));
}
