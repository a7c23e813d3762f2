/** What tests of several packages open: folders and servers, which end with the test, and gates. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

/** A new folder with these files, until the end of the test. */
export function createFolder(files: Record<string, string | Uint8Array> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

/** The path of a file that does not exist, in a folder of its own. */
export const scratchFile = (name = "shop.db") => join(createFolder(), name);

/**
 * Listens on a free port.
 * @param atEnd registers what closes the server.
 * @returns its address, without a path.
 */
export async function listen(
  listener: RequestListener | Server,
  atEnd: (close: () => void) => void = onTestFinished,
): Promise<string> {
  const server = listener instanceof Server ? listener : createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  atEnd(() => {
    server.close();
    if ("closeAllConnections" in server) (server.closeAllConnections as () => void)();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** `opened` resolves with the value of `open`. */
export function createGate<Value = void>() {
  let open: (value: Value) => void = () => {};
  const opened = new Promise<Value>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
