/** Sends deliveries over HTTP/2 without TLS, one for each session or many over one. */
import { type ClientHttp2Session, connect, type OutgoingHttpHeaders } from "node:http2";

export interface Http2Response {
  status: number;
  headers: Record<string, unknown>;
}

/** Sends one request over this session. A number as the body sends that many bytes, and does not end the stream. */
export function requestOver(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body: string | number,
): Promise<Http2Response & { closed: Promise<unknown> }> {
  return new Promise((resolve, reject) => {
    const request = session.request({ ":method": "POST", ":path": "/webhooks", ...headers });
    const closed = new Promise((settle) => request.on("close", settle));
    request.on("error", reject);
    request.on("close", () => reject(new Error("The stream was closed without a response.")));
    request.on("response", (response) => {
      resolve({ status: Number(response[":status"]), headers: response, closed });
      request.resume();
    });
    if (typeof body === "string") {
      request.end(body);
      return;
    }
    const chunk = Buffer.alloc(16_384, " ");
    let left = body;
    const write = () => {
      while (left > 0 && !request.destroyed) {
        left -= chunk.length;
        if (!request.write(chunk)) return void request.once("drain", write);
      }
    };
    write();
  });
}

/** Sends one delivery over a new session, and returns the status. */
export async function overHttp2(
  address: string,
  body: string,
  headers: Record<string, string | string[]>,
): Promise<number> {
  const session = connect(address);
  try {
    return (await requestOver(session, headers, body)).status;
  } finally {
    session.close();
  }
}
