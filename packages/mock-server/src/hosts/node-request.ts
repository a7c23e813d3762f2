/** Makes a request for the routes out of Node's, and reads to its end what nobody read. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpRequest } from "../http/request.ts";

/** Undefined for an address that cannot be read, and for TRACE, which no server should answer. */
export function fromNode(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  origin: string,
): HttpRequest | undefined {
  const { url = "/", method = "GET", headers } = incoming;
  const address = addressOf(url.startsWith("/") ? origin + url : url);
  if (address === undefined || method === "TRACE") return undefined;
  let gone: AbortController | undefined;
  return {
    method,
    url: address,
    headers: {
      get(name) {
        const value = headers[name];
        return value === undefined ? null : String(value);
      },
    },
    bytes: (atMost) => bytesOf(incoming, atMost),
    get signal() {
      if (gone === undefined) {
        const controller = new AbortController();
        outgoing.once("close", () => controller.abort());
        gone = controller;
      }
      return gone.signal;
    },
  };
}

function addressOf(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

async function bytesOf(incoming: IncomingMessage, atMost: number): Promise<Uint8Array | undefined> {
  await undefined; // what came in one packet with the head is here then, and needs no listeners, which cost more than it
  const announced = Number(incoming.headers["content-length"] ?? Number.NaN);
  if (announced > 0 && announced <= atMost && incoming.readableLength === announced) return incoming.read();
  return flowing(incoming, atMost);
}

function flowing(incoming: IncomingMessage, atMost: number): Promise<Uint8Array | undefined> {
  if (incoming.destroyed) return Promise.reject(new Error("The caller went away."));
  return new Promise((resolve, reject) => {
    const parts: Uint8Array[] = [];
    let length = 0;
    const take = (part: Uint8Array) => {
      parts.push(part);
      length += part.byteLength;
      if (length <= atMost) return;
      incoming.off("data", take);
      resolve(undefined);
    };
    incoming.on("data", take);
    incoming.on("end", () => resolve(parts.length === 1 ? parts[0] : Buffer.concat(parts, length)));
    incoming.on("close", () => reject(new Error("The caller went away."))); // after the end that is no news
  });
}

/** Enough for any client that sends its whole body before it reads the answer. */
const discardAtMostBytes = 256 * 1024 * 1024;
const discardAtMostMs = 10_000;

/**
 * Reads and forgets the rest of a body. To answer and close while the caller is still sending would reset the
 * connection, and the caller would never see the answer.
 * @returns whether all of it is read, so that the connection can go on.
 */
export function discarded(incoming: IncomingMessage): Promise<boolean> {
  if (incoming.complete || incoming.destroyed) return Promise.resolve(incoming.complete);
  return new Promise((resolve) => {
    let length = 0;
    const timer = setTimeout(() => end(false), discardAtMostMs);
    const end = (isComplete: boolean) => {
      clearTimeout(timer);
      incoming.off("data", count).off("end", complete).off("close", cut);
      resolve(isComplete);
    };
    const complete = () => end(true);
    const cut = () => end(false);
    const count = (part: Uint8Array) => {
      length += part.byteLength;
      if (length > discardAtMostBytes) end(false);
    };
    incoming.on("data", count).once("end", complete).once("close", cut).resume();
  });
}
