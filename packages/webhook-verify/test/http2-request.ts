/** Sends one delivery over HTTP/2 without TLS, and tells the status. */
import { connect } from "node:http2";

export function overHttp2(address: string, body: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const session = connect(address);
    session.on("error", reject);
    const request = session.request({ ":method": "POST", ":path": "/webhooks", ...headers });
    request.on("error", reject);
    request.on("response", (response) => {
      resolve(Number(response[":status"]));
      request.resume();
      session.close();
    });
    request.end(body);
  });
}
