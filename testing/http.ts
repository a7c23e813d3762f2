/** Servers that a test closes itself, and requests of exactly the bytes and headers that it names. */
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import type { Server } from "node:net";
import { listen } from "./resources.ts";

export interface RunningServer {
  /** The webhook route. */
  url: string;
  close(): Promise<unknown>;
}

export async function startServer(server: Server): Promise<RunningServer> {
  let close = () => {};
  const origin = await listen(server, (closeServer) => {
    close = closeServer;
  });
  return {
    url: `${origin}/webhooks`,
    close() {
      const closed = once(server, "close");
      close();
      return closed;
    },
  };
}

/** Sends exactly these bytes and headers, which fetch would change. Closes the connection. */
export function send(
  url: string,
  { body, headers }: { body: string | Uint8Array; headers: Record<string, string | string[]> },
  method = "POST",
): Promise<{ status: number; headers: Record<string, unknown>; text: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      url,
      { method, headers: { connection: "close", ...headers } },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk) => {
          text += chunk;
        });
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        );
      },
    );
    request.on("error", reject);
    request.end(body);
  });
}
