/** From an empty shell to a balance, by typing what the first guide says. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { lineOf, openShell } from "./shell.ts";

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const post = (url: string, body: unknown) =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  }).then((response) => response.json());

it("a sign-up gives a card, the same for the same form, and a purchase reaches the shop", async () => {
  const port = await freePort();
  const { start, output } = openShell(port);
  const [, mock] = await lineOf(start("start"), /The console: (\S+)\/console/);

  const [first, second] = [await output("sign-up"), await output("sign-up")];
  expect(second).toBe(first);
  const { user, links } = JSON.parse(first);
  expect(links.addToFirstWallet).toBe(`${links.page}/pass.pkpass`);

  const wrong = { name: "Ben", email: "ben@example.com", phone: "12" };
  expect(await post(`http://localhost:${port}/sign-up`, wrong)).toEqual({
    message: "The phone number is not valid.",
  });

  await post(`${mock}/_mock/cards/${user.cardId}/purchase`, { points: 120 }); // the console's button
  await post(`${mock}/_mock/wait`, { delivery: { type: "balance.changed", state: "delivered" } });
  expect(JSON.parse(await output("users"))[0]).toEqual({ ...user, balance: 120 });
});

it("the service answers on its port", async () => {
  const port = await freePort();
  await lineOf(openShell(port).start("port"), /Console +(\S+)/i);
  expect((await fetch(`http://127.0.0.1:${port}/_mock/health`)).status).toBe(200);
});

it("a command finds the service in its environment", async () => {
  expect(await openShell(0).output("exec")).toMatch(/^npm test http:\/\/127\.0\.0\.1:\d+ tpl_\w+\n$/);
});
