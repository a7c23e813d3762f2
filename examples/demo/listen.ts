/** Starts an Express app on a free port of this machine. */
import type { AddressInfo } from "node:net";
import type { Express } from "express";

export interface Listening {
  url: string;
  close(): Promise<void>;
}

export async function listen(app: Express): Promise<Listening> {
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve, reject) =>
    server.once("listening", resolve).once("error", reject),
  );
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
