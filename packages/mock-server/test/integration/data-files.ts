/** Servers with a data file, in this process and as processes of their own that tests kill. */
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { type MockServerOptions, startMockServer } from "../../src/adapters/node.ts";
import { caller, signUp, template } from "../shop.ts";
import { start, temporaryFolder } from "./command.ts";

export const temporaryData = () => join(temporaryFolder(), "data.json");

export async function open(options: MockServerOptions) {
  const server = await startMockServer({ templates: [template], ...options });
  onTestFinished(server.close);
  const call = caller(server.url, fetch, server.service.apiKeys.website);
  return {
    ...server,
    call,
    issue: (body: unknown) => call("POST", `/api/v1/templates/${template.id}/passes`, { body }),
  };
}

export const optionsFor = (data: string) => ["--port", "0", "--json", "--data", data];

export interface Ready {
  baseUrl: string;
  apiKeys: { website: string };
  templateId: string;
}

/** Starts the command on a file, as a process of its own. */
export async function startOn(data: string) {
  const process = start(...optionsFor(data));
  const ready: Ready = JSON.parse(await process.firstOutput);
  const call = caller(ready.baseUrl, fetch, ready.apiKeys.website);
  const path = `/api/v1/templates/${ready.templateId}/passes`;
  return { ...process, ...ready, call, issue: () => call("POST", path, { body: signUp({}, {}) }) };
}

export async function readCardIds(call: ReturnType<typeof caller>): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let total = 1, offset = 0; offset < total; offset += 100) {
    const { body } = await call("GET", `/_mock/cards?limit=100&offset=${offset}`, { key: null });
    for (const { id } of body.items) ids.add(id);
    total = body.total;
  }
  return ids;
}

/** Kills a server with SIGKILL while several callers write, and expects that every card of a response is in the file. */
export async function expectCardsSurviveKills(rounds: number): Promise<void> {
  const data = temporaryData();
  const issued: string[] = [];
  for (let round = 0; round <= rounds; round++) {
    const { child, exit, call, issue } = await startOn(data);
    const stored = await readCardIds(call);
    expect(issued.filter((id) => !stored.has(id))).toEqual([]);
    if (round === rounds) break;
    const last = issued.length + 10 + Math.floor(Math.random() * 60);
    const write = async () => {
      for (;;) {
        issued.push((await issue()).body.id);
        if (issued.length >= last) child.kill("SIGKILL");
      }
    };
    await Promise.allSettled(Array.from({ length: 4 }, write));
    await exit;
  }
  expect(issued.length).toBeGreaterThan(10 * rounds);
}
