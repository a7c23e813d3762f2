/** Writes a reply to a socket, also a broken one. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Reply } from "../http/reply.ts";

/**
 * To respond and close while the client is still sending would reset the connection, so the rest of
 * the body is read first. The listeners are removed before: that of the web stream, which nobody
 * reads any more, would pause the request.
 */
export function sendReply(reply: Reply, incoming: IncomingMessage, outgoing: ServerResponse): void {
  if (incoming.complete || reply.fault !== undefined) {
    writeReply(reply, outgoing);
    return;
  }
  incoming.removeAllListeners("data");
  incoming.resume();
  incoming.once("end", () => writeReply(reply, outgoing));
}

function writeReply(reply: Reply, outgoing: ServerResponse): void {
  const { socket } = outgoing;
  if (socket === null) return; // the client has closed the connection
  switch (reply.fault) {
    case undefined:
      writeWhole(reply, outgoing);
      break;
    case "truncate":
      writeHalf(reply, socket);
      break;
    case "reset":
      socket.resetAndDestroy();
      break;
    case "destroy":
      socket.destroy();
      break;
    case "hang":
      break;
  }
}

function writeWhole({ status, headers, body }: Reply, outgoing: ServerResponse): void {
  if (body === null) {
    outgoing.writeHead(status, headers).end();
    return;
  }
  const length = Buffer.byteLength(body);
  outgoing.writeHead(status, { ...headers, "content-length": length }).end(body);
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
