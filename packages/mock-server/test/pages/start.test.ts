/** The address of the service itself, which people open and readiness probes request. */
import { expect, it } from "vitest";
import { openShop } from "../shop.ts";

it.each(["GET", "HEAD"])(
  "responds 200 to %s / without headers, as readiness probes send it",
  async (method) => {
    const { service } = openShop();
    const response = await service.fetch(new Request(`${service.baseUrl}/`, { method }));
    expect(response.status).toBe(200);
    if (method === "GET")
      expect(await response.json()).toMatchObject({ console: `${service.baseUrl}/console` });
  },
);

it("shows a browser links that work, and the newest card when there is one", async () => {
  const { service, issue } = openShop();
  const readLinks = async () => {
    const response = await service.fetch(
      new Request(`${service.baseUrl}/`, { headers: { accept: "text/html,*/*" } }),
    );
    expect([response.status, response.headers.get("content-type")]).toEqual([
      200,
      "text/html; charset=utf-8",
    ]);
    return [...(await response.text()).matchAll(/<a href="([^"]+)"/g)].map(
      ([, address = ""]) => new URL(address, `${service.baseUrl}/`).href,
    );
  };
  expect((await readLinks()).length).toBe(4);
  await issue();
  const { publicUrl } = (await issue()).body;
  const links = await readLinks();
  expect(links).toContain(publicUrl);
  for (const link of links.filter((each) => each.startsWith(service.baseUrl)))
    expect((await service.fetch(new Request(link))).status).toBe(200);
});

it("responds to host names of this machine only", async () => {
  const { service } = openShop();
  const headers = { host: "rebound.test", accept: "text/html" };
  expect((await service.fetch(new Request(`${service.baseUrl}/`, { headers }))).status).toBe(403);
});
