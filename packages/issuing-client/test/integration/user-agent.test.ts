/** The User-Agent header, as a server receives it. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { createIssuingClient, type IssuingClientOptions } from "../../src/index.ts";
import { signUp, template } from "../scripted.ts";

const own = `loyalty-cards/${packageJson.version}`;

/** A client and a server that responds with these statuses first, and then with a body that suits every method. */
async function open(options: Partial<IssuingClientOptions>, statuses: number[] = []) {
  const userAgents: unknown[] = [];
  const server = createServer((request, response) => {
    userAgents.push(request.headers["user-agent"]);
    response.writeHead(statuses.shift() ?? 200, { "content-type": "application/json" });
    response.end(
      JSON.stringify({ id: "card_1", publicUrl: "https://cards.test/1", items: [], marketingConsent: true }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const baseUrl = `http://127.0.0.1:${port}`;
  return {
    userAgents,
    client: createIssuingClient({ baseUrl, apiKey: "k", testing: { random: () => 0 }, ...options }),
  };
}

describe.each([
  ["node:http", {}],
  ["fetch", { fetch }],
])("over %s", (_name, transport) => {
  it("sends the name and the version of the package with every method, retry and call of client.api", async () => {
    const { client, userAgents } = await open(transport, [503]);
    await client.issueCard(template.id, signUp, { userId: 1 });
    await client.getCard("card_1");
    await client.listOperations("card_1");
    await client.getConsent("card_1");
    await client.setConsent("card_1", { marketing: true });
    await client.api.GET("/passes/{id}", { params: { path: { id: "card_1" } } });
    expect(userAgents).toEqual(Array(7).fill(own));
  });

  it("appends the userAgent option and the user-agent header of the call", async () => {
    const { client, userAgents } = await open({ ...transport, userAgent: "my-shop/1.2 (staging)" }, [503]);
    await client.getCard("card_1");
    await client.getCard("card_1", { headers: { "User-Agent": "back-fill/3" } });
    await client.getCard("card_1", { headers: { "user-agent": "" } });
    const params = { path: { id: "card_1" } };
    await client.api.GET("/passes/{id}", { params, headers: { "user-agent": "back-fill/3" } });
    const withProgram = `${own} my-shop/1.2 (staging)`;
    expect(userAgents).toEqual([
      withProgram,
      withProgram,
      `${withProgram} back-fill/3`,
      withProgram,
      `${withProgram} back-fill/3`,
    ]);
  });
});
