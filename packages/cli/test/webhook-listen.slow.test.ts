/** `webhook listen` closes the connections of clients that stop in the middle of a request. */
import { once } from "node:events";
import { connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { start, startReceiver } from "./terminal.ts";

it("webhook listen closes the connection of a client that stops in the middle, after ten seconds", async () => {
  const { url, env } = await startReceiver();
  const running = start(["webhook", "listen", "--port", "0", "--to", url], { env });
  const tunnel = /http:\/\/127\.0\.0\.1:\d+/.exec(await running.waitFor(/Receiver/))?.[0] ?? "";
  const startedMs = performance.now();
  const sockets = ["POST / HT", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{"].map(
    (text) => {
      const socket = connect(Number(new URL(tunnel).port), "127.0.0.1");
      onTestFinished(() => void socket.destroy());
      socket.write(text);
      return once(socket.resume(), "close");
    },
  );
  await Promise.all(sockets);
  expect(performance.now() - startedMs).toBeLessThan(15_000);
});
