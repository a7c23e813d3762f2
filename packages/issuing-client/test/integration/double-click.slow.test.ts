/** A double click: two sign-ups of one user at the same time, in one process and in two. */
import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { expect, it, onTestFinished } from "vitest";
import { card, template } from "../scripted.ts";
import { listen } from "../server.ts";

const runs = 1_000;

/** Issues a card to each user, twice at once in this process, and prints the ids. */
const program = `
  import { createIssuingClient } from "@loyalty-cards/issuing-client";
  const client = createIssuingClient();
  const [from, clicks, atATime] = process.argv.slice(1).map(Number);
  const request = (user) => ({
    fieldValues: { name: "Anna" },
    customer: { email: "user" + user + "@shop.test", consents: { privacy: { version: "1" } } },
  });
  const cards = {};
  let next = from;
  const join = async () => {
    while (next < ${runs}) {
      const user = next++;
      const click = () => client.issueCard("${template.id}", request(user), { userId: user });
      cards[user] = (await Promise.all(Array.from({ length: clicks }, click))).map(({ id }) => id);
    }
  };
  await Promise.all(Array.from({ length: atATime }, join));
  console.log(JSON.stringify(cards));`;

async function signUp(baseUrl: string, apiKey: string, clicks: number, atATime: number) {
  const root = fileURLToPath(new URL("../../../..", import.meta.url));
  const flags = ["--conditions=@loyalty-cards/source", "--import", "tsx", "--input-type=module"];
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...flags, "--eval", program, "0", String(clicks), String(atATime)],
    { cwd: root, env: { ...process.env, LOYALTY_URL: baseUrl, LOYALTY_API_KEY: apiKey }, maxBuffer: 2 ** 26 },
  );
  return Object.values(JSON.parse(stdout) as Record<string, string[]>);
}

/** Responds 409 to every request of a key while the first one runs, for three seconds. */
async function openSlowService() {
  const issuedAt = new Map<string, number>();
  const conflicts = { count: 0 };
  const server = createServer((request, response) => {
    const key = String(request.headers["idempotency-key"]);
    request.resume();
    const respond = (status: number) => {
      if (status === 409) conflicts.count += 1;
      const body = status === 409 ? { type: "about:blank", status } : { ...card, id: `card_${key}` };
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    const firstAt = issuedAt.get(key);
    if (firstAt !== undefined) return respond(Date.now() - firstAt < 3_000 ? 409 : 201);
    issuedAt.set(key, Date.now());
    setTimeout(respond, 3_000, 201);
  });
  return { baseUrl: `http://127.0.0.1:${await listen(server)}`, issuedAt, conflicts };
}

const clickers = [
  ["one process", 1, 2],
  ["two processes", 2, 1],
] as const;

it.each(clickers)(
  "ends with one card and no error in each of 1,000 runs of the mock service, in %s",
  async (_name, processes, clicks) => {
    const { url, service, close } = await startMockServer({ port: 0, templates: [template] });
    onTestFinished(close);
    const started = Array.from({ length: processes }, () => signUp(url, service.apiKeys.website, clicks, 16));
    const users = (await Promise.all(started)).reduce((all, more) =>
      all.map((ids, user) => [...ids, ...(more[user] ?? [])]),
    );
    expect(users).toHaveLength(runs);
    expect(users.filter((ids) => ids.length !== 2 || new Set(ids).size !== 1)).toEqual([]);
    expect(new Set(users.flat()).size).toBe(runs);
  },
);

it.each(clickers)(
  "ends with one card and no error in each of 1,000 runs of a service that responds 409 while it works for three seconds, in %s",
  async (_name, processes, clicks) => {
    const { baseUrl, issuedAt, conflicts } = await openSlowService();
    const started = Array.from({ length: processes }, () => signUp(baseUrl, "k", clicks, runs));
    const users = (await Promise.all(started)).reduce((all, more) =>
      all.map((ids, user) => [...ids, ...(more[user] ?? [])]),
    );
    expect(users.filter((ids) => ids.length !== 2 || new Set(ids).size !== 1)).toEqual([]);
    expect([new Set(users.flat()).size, issuedAt.size]).toEqual([runs, runs]);
    expect(conflicts.count).toBeGreaterThan(runs);
  },
);
