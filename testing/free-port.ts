/** A port for a server of another process, which is given its port. */
import { createServer } from "node:net";

/**
 * A free port below those that systems choose from for `listen(0)` and connections, so that no
 * other test gets it meanwhile.
 */
export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const port = 11_000 + Math.floor(Math.random() * 20_000);
    const server = createServer().listen(port, "127.0.0.1", () =>
      server.close(() => resolve(port)),
    );
    server.once("error", () => resolve(freePort()));
  });
}
