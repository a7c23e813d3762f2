/** A data file after a crash: kills at any moment, incomplete writes, and a disk that is full. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, inject, it, onTestFinished } from "vitest";
import { caller, signUp, template } from "../shop.ts";
import {
  expectCardsSurviveKills,
  open,
  optionsFor,
  type Ready,
  readCardIds,
  temporaryData,
} from "./data-files.ts";

// All twenty rounds are in data-file.slow.test.ts.
it("keeps every card of a response when the server is killed, three times", { timeout: 60_000 }, () =>
  expectCardsSurviveKills(3),
);

it("removes the temporary file that a killed server left", async () => {
  const data = temporaryData();
  const { issue, close } = await open({ data });
  const { body } = await issue(signUp());
  const [entry = ""] = readdirSync(`${data}.lock`);
  await close();
  mkdirSync(`${data}.lock`);
  const [pid, ticks, ...rest] = entry.split("_");
  const left = join(`${data}.lock`, `${[pid, `${ticks}0`, ...rest].join("_")}.tmp`);
  writeFileSync(left, '{"format":"half');
  const { call } = await open({ data });
  expect((await call("GET", `/api/v1/passes/${body.id}`)).status).toBe(200);
  expect(existsSync(left)).toBe(false);
});

it("ignores an incomplete last line, which was written before any response", async () => {
  const data = temporaryData();
  const first = await open({ data });
  const { body: before } = await first.issue(signUp());
  const { size } = statSync(data);
  const { body: cut } = await first.issue(signUp());
  await first.close();
  truncateSync(data, size + 40);
  const second = await open({ data });
  expect((await second.call("GET", `/api/v1/passes/${before.id}`)).status).toBe(200);
  expect((await second.call("GET", `/api/v1/passes/${cut.id}`)).status).toBe(404);
  const { body: after } = await second.issue(signUp());
  await second.close();
  const third = await open({ data });
  expect(await readCardIds(third.call)).toEqual(new Set([before.id, after.id]));
});

it("writes an event to the file before its first delivery attempt", async () => {
  const data = temporaryData();
  const contents: string[] = [];
  const deliver = () => {
    contents.push(readFileSync(data, "utf8"));
    return new Response(null, { status: 204 });
  };
  const { service, issue } = await open({ data, deliver });
  service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["balance.changed"] });
  const { body } = await issue(signUp());
  const { id } = service.cards.purchase(body.id, { points: 1 });
  await service.idle();
  expect(contents).toEqual([expect.stringContaining(id)]);
});

const hasPrlimit = spawnSync("prlimit", ["--version"]).status === 0;

/** Starts a server that can write a few kilobytes to its file, and issues cards until it responds 500. */
async function fillFile(data: string) {
  await (await open({ data })).close();
  // The system lets this process make no file larger than this.
  const limit = `ulimit -S -f ${Math.ceil(statSync(data).size / 1024) + 4}; exec "$0" "$@"`;
  const node = [process.execPath, inject("bundledCommand"), "--quiet", ...optionsFor(data)];
  const child = spawn("bash", ["-c", limit, ...node], { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = await once(child.stdout, "data");
  const ready: Ready = JSON.parse(String(line));
  const call = caller(ready.baseUrl, fetch, ready.apiKeys.website);
  const issue = () => call("POST", `/api/v1/templates/${template.id}/passes`, { body: signUp() });
  const issued: string[] = [];
  for (;;) {
    const { status, body } = await issue();
    if (status === 500) return { child, ready, issue, issued };
    issued.push(body.id);
  }
}

it.skipIf(!hasPrlimit)(
  "responds 500 while the file cannot be written, and keeps every card of a 201 (needs prlimit)",
  { timeout: 60_000 },
  async () => {
    const data = temporaryData();
    const { child, ready, issue, issued } = await fillFile(data);
    const response = await fetch(`${ready.baseUrl}/_mock/templates`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"name":"Late"}',
    });
    expect([response.status, await response.text()]).toEqual([
      500,
      expect.stringContaining("The data file cannot be written: EFBIG"),
    ]);
    expect(issued.length).toBeGreaterThan(1);
    spawnSync("prlimit", ["--pid", String(child.pid), "--fsize=unlimited"]);
    const later = await issue();
    expect(later.status).toBe(201);
    issued.push(later.body.id);
    child.kill("SIGKILL");
    await once(child, "close");
    const there = await readCardIds((await open({ data })).call);
    expect(issued.filter((id) => !there.has(id))).toEqual([]);
  },
);

it("prints one line at the end when the file cannot be written", { timeout: 60_000 }, async () => {
  const { child } = await fillFile(temporaryData());
  let stderr = "";
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  child.kill("SIGTERM");
  const [code] = await once(child, "close");
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^loyalty-cards-mock: EFBIG.*\n$/)]);
});
