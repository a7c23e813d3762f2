/** The status page in Express and with fetch: content, replay, authorization. */
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import express, { type RequestHandler } from "express";
import express4 from "express-4";
import { describe, expect, it, onTestFinished } from "vitest";
import type { SqliteInbox } from "../../src/index.ts";
import { expressStatusPage, fetchStatusPage } from "../../src/status/index.ts";
import { balanceChanged, put } from "../events.ts";
import { recordOutcomes } from "../outcomes.ts";
import { openInbox } from "../sqlite-files.ts";

interface Guard {
  authorize?: "external" | ((request: { headers: unknown }) => boolean | Promise<boolean>);
  log?: (line: string) => void;
}
type Ask = (init?: RequestInit & { query?: string }) => Promise<Response>;
type Mount = (inbox: SqliteInbox, guard: Guard) => Promise<Ask>;

const throughExpress =
  (framework: typeof express, ...before: RequestHandler[]): Mount =>
  async (inbox, guard) => {
    const app = framework();
    app.use("/inbox", ...before, expressStatusPage(inbox, guard));
    const server = createServer(app);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    const { port } = server.address() as AddressInfo;
    return ({ query = "", ...init } = {}) =>
      fetch(`http://127.0.0.1:${port}/inbox${query}`, { redirect: "manual", ...init });
  };
const mounts: [string, Mount][] = [
  [
    "fetch",
    async (inbox, guard) => {
      const handle = fetchStatusPage(inbox, guard);
      return ({ query = "", ...init } = {}) => handle(new Request(`http://shop.test/inbox${query}`, init));
    },
  ],
  ["Express 5", throughExpress(express)],
  ["Express 4", throughExpress(express4)],
  ["Express 4 after a JSON parser", throughExpress(express4, express4.json())],
  ["Express after a body parser", throughExpress(express, express.urlencoded({ extended: false }))],
];

describe.each(mounts)("through %s", (_name, mount) => {
  async function mounted(guard: Guard = { authorize: "external" }) {
    const recorded = recordOutcomes();
    const inbox = openInbox({ onOutcome: recorded.onOutcome });
    await put(inbox, balanceChanged(`evt_"<b>poison</b>`));
    const worker = inbox.work(
      () => {
        throw new Error("secret of a customer");
      },
      { maxAttempts: 1 },
    );
    await recorded.until("dead");
    await worker.stop();
    await put(inbox, balanceChanged("evt_waiting"));
    const ask = await mount(inbox, { log: () => {}, ...guard });
    return { inbox, ask };
  }
  const form = (id: string) => ({ method: "POST", body: new URLSearchParams({ id }) });

  it("shows waiting events and dead letters, without markup or error texts of events", async () => {
    const { ask } = await mounted();
    const response = await ask();
    const page = await response.text();
    expect([response.status, response.headers.get("content-type")]).toEqual([
      200,
      "text/html; charset=utf-8",
    ]);
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(page).toContain("<strong>1</strong><span>waiting</span>");
    expect(page).toContain("<code>evt_waiting</code>");
    expect(page).toContain("<code>evt_&quot;&lt;b&gt;poison&lt;/b&gt;</code>");
    expect(page).not.toContain("<b>poison");
    expect(page).not.toContain("secret of a customer");
    expect(page).toMatch(/Error at /);
    expect((await ask({ method: "HEAD" })).status).toBe(200);
  });

  it("replays a dead letter once", async () => {
    const { inbox, ask } = await mounted();
    const response = await ask(form(`evt_"<b>poison</b>`));
    expect(response.status).toBe(303);
    const query = response.headers.get("location") ?? "";
    expect(await (await ask({ query })).text()).toContain(
      "Replayed 1 event. A replayed event has all of its attempts again",
    );
    expect(await inbox.health()).toMatchObject({ waiting: 2, dead: 0 });
    expect((await ask(form(`evt_"<b>poison</b>`))).status).toBe(404);
    expect((await ask({ method: "POST", body: new URLSearchParams() })).status).toBe(400);
  });

  it("replays a selection, a group of one failure, and all", async () => {
    const recorded = recordOutcomes();
    const inbox = openInbox({ onOutcome: recorded.onOutcome });
    const failures = [new TypeError("a"), new RangeError("b")];
    for (const number of [0, 1, 2, 3, 4, 5]) await put(inbox, balanceChanged(`evt_${number}`));
    const worker = inbox.work(
      ({ id }) => {
        throw failures[Number(id.slice(-1)) % 2];
      },
      { maxAttempts: 1 },
    );
    await expect.poll(async () => (await inbox.health()).dead).toBe(6);
    await worker.stop();
    const ask = await mount(inbox, { authorize: "external" });
    const listDead = async () => (await inbox.list({ state: "dead" })).map(({ id }) => id);
    const send = async (fields: [string, string][]) =>
      (await ask({ method: "POST", body: new URLSearchParams(fields) })).status;

    const [selection, otherwise] = [
      [
        ["id", "evt_0"],
        ["id", "evt_3"],
      ] satisfies [string, string][],
      [["id", ""]] satisfies [string, string][],
    ];
    expect(await send(selection)).toBe(303);
    expect(await listDead()).toEqual(["evt_1", "evt_2", "evt_4", "evt_5"]);
    const group = /name="group" value="(RangeError[^"]*)"/.exec(await (await ask()).text())?.[1] ?? "";
    expect(await send([["group", group.replaceAll("&lt;", "<").replaceAll("&gt;", ">")]])).toBe(303);
    expect(await listDead()).toEqual(["evt_2", "evt_4"]);
    expect([await send(otherwise), await send([["group", "no such failure"]])]).toEqual([400, 400]);
    expect(await send([["all", "1"]])).toBe(303);
    expect(await listDead()).toEqual([]);
  });

  it("rejects a form from another site", async () => {
    const { inbox, ask } = await mounted();
    for (const headers of [
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { origin: "https://evil.test" },
      { origin: "null" },
    ]) {
      expect((await ask({ ...form(`evt_"<b>poison</b>`), headers })).status).toBe(403);
    }
    expect(await inbox.health()).toMatchObject({ dead: 1 });
  });

  it("calls authorize, and shows nothing when it fails", async () => {
    let verdict: () => boolean | Promise<boolean> = () => false;
    const { inbox, ask } = await mounted({ authorize: () => verdict() });
    expect((await ask()).status).toBe(403);
    expect((await ask(form(`evt_"<b>poison</b>`))).status).toBe(403);
    verdict = async () => true;
    expect((await ask()).status).toBe(200);
    verdict = () => Promise.reject(new Error("the session store is unavailable"));
    const failed = await ask();
    expect([failed.status, await failed.text()]).toEqual([
      503,
      "The inbox or the authorization of this page failed.",
    ]);
    expect(await inbox.health()).toMatchObject({ dead: 1 });
  });

  it("reports missing authorization in the log and on the page, and rejects replays", async () => {
    const lines: string[] = [];
    const inbox = openInbox();
    const ask = await mount(inbox, { log: (line) => void lines.push(line) });
    expect(lines).toEqual([expect.stringContaining("mounted without authorization")]);
    const page = await (await ask()).text();
    expect(page).toContain("This page has no authorization");
    expect(page).not.toContain("<button>");
    expect((await ask(form("evt_1"))).status).toBe(403);
  });

  it("responds 503 when the inbox is unreachable, 405 to other methods, and limits the form", async () => {
    const { inbox, ask } = await mounted();
    expect((await ask({ method: "PUT", body: "x" })).status).toBe(405);
    expect((await ask({ ...form("x".repeat(400_000)) })).status).toBe(413);
    await inbox.close();
    const response = await ask();
    expect([response.status, (await response.text()).includes("The inbox cannot be reached")]).toEqual([
      503,
      true,
    ]);
  });
});

/** Sends requests with these request lines, each over a new connection. @returns their statuses */
async function getStatuses(port: number, requestLines: readonly string[]): Promise<(string | undefined)[]> {
  const statuses: (string | undefined)[] = [];
  for (const line of requestLines) {
    const text = await new Promise<string>((resolve) => {
      let received = "";
      const socket = connect(port, "127.0.0.1", () =>
        socket.write(`${line} HTTP/1.1\r\nhost: shop.test\r\nconnection: close\r\n\r\n`),
      );
      socket.setEncoding("utf8").on("data", (part) => {
        received += part;
      });
      socket.on("error", () => {}).on("close", () => resolve(received));
    });
    statuses.push(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);
  }
  return statuses;
}

it.each([
  ["Express 5", express],
  ["Express 4", express4],
])(
  "%s calls authorize, and continues, when the target of a request is not a valid URL",
  async (_name, framework) => {
    let asked = 0;
    let isAllowed = false;
    const authorize = () => {
      asked += 1;
      return isAllowed;
    };
    const app = framework().use(expressStatusPage(openInbox(), { authorize }));
    const server = createServer(app);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const targets = ["http://a:99999/inbox", "//:@/inbox?replayed", "http://%/", "*"];
    const lines = targets.map((target) => `GET ${target}`);
    expect(await getStatuses(port, lines)).toEqual(targets.map(() => "403"));
    expect(asked).toBe(targets.length);
    isAllowed = true;
    expect(await getStatuses(port, lines)).toEqual(targets.map(() => "200"));
  },
);

it("rejects an authorize that is not a function", () => {
  expect(() => fetchStatusPage(openInbox(), { authorize: true as never })).toThrow(
    /authorize must be a function/,
  );
});
