/**
 * The option `dataFile`: a restart restores everything; kills, a full disk, a second server, and
 * files that cannot be used.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs, {
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { caller, noon, shopTemplate, toSignUp } from "@loyalty-cards/testing/mock-shop";
import { createFolder } from "@loyalty-cards/testing/resources";
import { expect, inject, it, onTestFinished } from "vitest";
import { type MockServerOptions, startMockServer } from "../../src/adapters/node.ts";
import { manualClock, scaledClock } from "../../src/index.ts";
import { connectTo, openServer, start } from "./command.ts";

const temporaryData = () => join(createFolder(), "data.json");

/** Starts a server in this process. */
async function open(options: MockServerOptions) {
  const server = await openServer(options);
  const call = caller(server.url, fetch, server.service.apiKeys.website);
  const path = `/api/v1/templates/${shopTemplate.id}/passes`;
  const issue = (body: unknown, headers = {}) => call("POST", path, { body, headers });
  const control = async (path: string) => (await call("GET", `/_mock/${path}`, { key: null })).body;
  return { ...server, call, issue, control };
}

const commandLine = (file: string) => ["--port", "0", "--json", "--quiet", "--data", file];

/** Issues cards at the server of a process that has printed its first line. */
function connect(firstLine: string) {
  const { issue } = connectTo(firstLine);
  return async () => (await issue(toSignUp({}, {}))).body.id as string;
}

const readCardIds = (file: string): string[] =>
  JSON.parse(readFileSync(file, "utf8")).state.cards.map(([id]: [string]) => id);

it("restores cards, keys, secrets, faults, warnings, the clock and pending deliveries after a restart", async () => {
  const dataFile = temporaryData();
  const failing = () => new Response(null, { status: 500 });
  const endpoints = [{ url: "https://shop.test/", events: ["balance.changed" as const] }];
  const settings = { dataFile, storeRefusals: true };
  const seed = { defaultCountry: "DE", endpoints };
  const before = await open({ ...settings, clock: manualClock(noon), deliver: failing, ...seed });
  const { cards, webhooks, clock, apiKeys } = before.service;
  const withKey = { "idempotency-key": "user-1" };
  const customer = { phone: "+49301234567", email: "müller@bücher.example" };
  const { body: card } = await before.issue(toSignUp(customer));
  expect((await before.issue(toSignUp({}, {}), withKey)).status).toBe(422);
  expect((await before.issue(toSignUp({ name: "Anna" }), withKey)).status).toBe(422); // a warning
  const [kept, deleted] = ["https://shop.test/1", "https://shop.test/2"].map((url) =>
    webhooks.createEndpoint({ url, events: ["ping"] }),
  );
  webhooks.sendTest(deleted?.id ?? "");
  await before.service.idle();
  webhooks.updateEndpoint(kept?.id ?? "", { url: "https://shop.test/moved" });
  webhooks.deleteEndpoint(deleted?.id ?? "");
  before.service.templates.archive(
    before.service.templates.create({ id: "tpl_old", name: "Old" }).id,
  );
  before.service.faults.add({ kind: "duplicate", times: 2, match: { event: "ping" } });
  cards.cancel(cards.purchase(card.id, { points: 5 }).id);
  cards.purchase(card.id, { points: 20 });
  cards.expire(card.id, { points: 15, keepBalance: true });
  cards.setStatus(card.id, "blocked");
  cards.addToWallet(card.id, "apple");
  await before.call("PUT", `/api/v1/passes/${card.id}/consent`, { body: { marketing: true } });
  await clock.advance("2m");
  webhooks.newSecret(before.service.endpoints[0]?.id ?? "");
  const advertised = { website: apiKeys.create().key, full: apiKeys.create("full").key };
  apiKeys.revoke(apiKeys.website);
  const lists = "api-keys cards templates faults clock traffic?kind=delivery webhooks/endpoints";
  const show = async ({ control, url }: typeof before) => {
    const paths = [...lists.split(" "), `cards/${card.id}/operations`];
    const text = JSON.stringify(await Promise.all(paths.map(control)));
    return text.replaceAll(url, "").replace(/"version":\d+/, "");
  };
  const shown = await show(before);
  await before.close();

  const deliver = () => new Response(null, { status: 204 });
  const after = await open({ ...settings, deliver, templates: [{ name: "Ignored" }] });
  // The two requests with a 422 are not stored; the four deliveries are.
  expect(await show(after)).toBe(shown.replace('"problems":6', '"problems":4'));
  const { items: storedEndpoints } = await after.control("webhooks/endpoints");
  expect(storedEndpoints).toHaveLength(2);
  expect(after.service).toMatchObject({
    templateId: shopTemplate.id,
    endpoints: storedEndpoints,
    apiKeys: advertised,
  });
  expect((await after.call("GET", `/api/v1/passes/${card.id}`)).status).toBe(200);
  for (const customer of [{ phone: "030 1234567" }, { email: "Müller@xn--bcher-kva.example" }])
    expect((await after.issue(toSignUp(customer))).body.customerId).toBe(card.customerId);
  expect((await after.issue(toSignUp(), withKey)).status).toBe(422);
  const attempts = await after.service.clock.runUntilIdle();
  expect(attempts).toMatchObject(Array(3).fill({ type: "balance.changed", status: 204 }));
  after.service.reset();
  expect((await after.control("webhooks/endpoints")).items).toEqual(before.service.endpoints);
  expect(after.service.apiKeys.list()).toMatchObject(
    [apiKeys.website, apiKeys.full].map((key) => ({ key })),
  );
});

it("has the endpoints of the options beside those of the file, one for each address, also after a reset", async () => {
  const dataFile = temporaryData();
  const events = ["ping" as const];
  const [web, api] = ["http://web:3000/", "http://api:3000/"];
  const seedFile = join(
    createFolder({ "seed.json": '{ "templates": [{ "name": "New" }] }' }),
    "seed.json",
  );
  const show = async ({ control }: Awaited<ReturnType<typeof open>>) =>
    (await control("webhooks/endpoints")).items.map(({ url, secret }: Record<string, string>) => [
      url,
      secret,
    ]);
  const restart = async (options: MockServerOptions = {}) => {
    const server = await open({ dataFile, seedFile, ...options });
    const atStart = await show(server);
    server.service.reset();
    expect(await show(server)).toEqual(atStart);
    expect(server.service.endpoints.map(({ url, secret }) => [url, secret])).toEqual(atStart);
    expect(server.service.templateId).toBe(shopTemplate.id);
    await server.close();
    return atStart;
  };
  const first = await open({ dataFile, forwardTo: web, endpoints: [{ url: web, events }] });
  const secret = first.service.endpoints[0]?.secret;
  await first.close();
  expect(await restart()).toEqual([[web, secret]]);
  const toApi = { forwardTo: api, endpoints: [{ url: api, events, secret: "whsec_1" }] };
  const both = [
    [api, "whsec_1"],
    [web, secret],
  ];
  expect(await restart(toApi)).toEqual(both);
  expect(await restart({ forwardTo: api, endpoints: [{ url: api, events }] })).toEqual(both);
  expect(await restart({ ...toApi, endpoints: [{ url: api, events, secret: "whsec_2" }] })).toEqual(
    [
      [api, "whsec_2"],
      [web, secret],
    ],
  );
  const moved = await open({ dataFile });
  moved.service.webhooks.updateEndpoint(moved.service.endpoints[0]?.id ?? "", {
    url: "https://shop.test/",
  });
  await moved.close();
  const toMoved = await restart({ endpoints: [{ url: "https://shop.test/", events }] });
  expect(toMoved).toEqual([
    ["https://shop.test/", "whsec_2"],
    [web, secret],
  ]);
  const selecting = await open({ dataFile, forwardTo: web });
  const selected = ["card.added" as const];
  selecting.service.webhooks.updateEndpoint(selecting.service.endpoints[1]?.id ?? "", {
    events: selected,
  });
  await selecting.close();
  const url = "http://web:3000"; // the same address
  const last = await open({
    dataFile,
    forwardTo: url,
    endpoints: [{ url, events, secret: undefined }],
  });
  expect(last.service.endpoints).toMatchObject([{ url, events: selected, secret }, {}]);
  last.service.reset();
  const { items } = await last.control("webhooks/endpoints");
  expect(items).toMatchObject([{ url, events, secret }, {}]);
  const replaced = last.service.webhooks.newSecret(items[0].id);
  await last.close();
  const own = { ...replaced, secret: "whsec_own" };
  delete own.secretReplacedAt;
  for (const expected of [replaced, own]) {
    const endpoints = [{ url, events, secret: expected.secret }];
    const { service, close } = await open({ dataFile, forwardTo: url, endpoints });
    expect(service.endpoints[0]).toStrictEqual(expected);
    await close();
  }
});

it("continues a fast clock from its last time when it would be after the year 9999 now", async () => {
  const dataFile = temporaryData();
  const before = await open({ dataFile, clock: scaledClock({ factor: 1_000_000, startAt: noon }) });
  await before.close();
  const daysAgo = Date.now() - 100 * 86_400_000;
  const text = readFileSync(dataFile, "utf8");
  writeFileSync(dataFile, text.replace(/"machineMs":[\d.]+/, `"machineMs":${daysAgo}`));
  const { service } = await open({ dataFile });
  expect(service.clock.setting()).toEqual({ mode: "scaled", factor: 1_000_000 });
  expect(service.clock.now()).toBeLessThan(Date.parse("3000-01-01"));
});

const content = {
  format: "loyalty-cards mock-server",
  version: 1,
  clock: { mode: "system" },
  state: {},
};
it.each<[what: string, content: unknown, message: RegExp]>([
  ["text", "hello", /it is not JSON/],
  ["other JSON", { a: 1 }, /it is not of a mock server/],
  ["null", null, /it is not of a mock server/],
  [
    "a newer version",
    { ...content, version: 2 },
    /it has version 2, and this mock server reads version 1/,
  ],
  ["a state without its lists", content, /it has no list "apiKeys"/],
])("refuses %s, names the file, and does not change it", async (_what, content, message) => {
  const dataFile = temporaryData();
  const text = typeof content === "string" ? content : JSON.stringify(content);
  writeFileSync(dataFile, text);
  const opening = startMockServer({ dataFile });
  await expect(opening).rejects.toThrow(message);
  await expect(opening).rejects.toThrow(`The data file ${dataFile} cannot be used (`);
  await expect(opening).rejects.toThrow("use another file, or move this one away");
  expect(readFileSync(dataFile, "utf8")).toBe(text);
});

it("reads a file that an editor saved with a byte order mark", async () => {
  const dataFile = temporaryData();
  const { issue, close } = await open({ dataFile });
  const { body } = await issue(toSignUp());
  await close();
  writeFileSync(dataFile, `\ufeff${readFileSync(dataFile, "utf8")}`);
  const { service } = await open({ dataFile });
  expect(service.cards.get(body.id).id).toBe(body.id);
});

it("starts with an empty file, as a container mounts it, and with a link to one", async () => {
  const [dataFile, link] = [temporaryData(), temporaryData()];
  writeFileSync(dataFile, "\n");
  symlinkSync(dataFile, link);
  for (const name of [dataFile, link]) {
    const { service, issue, close } = await open({ dataFile: name });
    await issue(toSignUp());
    await close();
    expect(readCardIds(dataFile)).toEqual(service.cards.list().map(({ id }) => id));
  }
});

function replaceInFs(functions: Partial<typeof fs.promises>): void {
  const original = { ...fs.promises };
  Object.assign(fs.promises, functions);
  syncBuiltinESMExports();
  onTestFinished(() => {
    Object.assign(fs.promises, original);
    syncBuiltinESMExports();
  });
}

/** As of a file that is mounted itself, without the rights that mounting one needs. */
const refuseRename = (code: string) =>
  replaceInFs({
    rename: () => Promise.reject(Object.assign(new Error(`${code}: rename`), { code })),
  });

it.each(["EBUSY", "EACCES"])(
  "writes a file in place that rename cannot replace: %s",
  async (code) => {
    const dataFile = temporaryData();
    refuseRename(code);
    const { issue, close } = await open({ dataFile });
    const { body } = await issue(toSignUp());
    await close();
    expect(readCardIds(dataFile)).toEqual([body.id]);
    expect(existsSync(`${dataFile}.tmp`)).toBe(false);
    const after = await open({ dataFile });
    after.service.reset(); // the file becomes shorter
    await after.close();
    expect(readCardIds(dataFile)).toEqual([]);
  },
);

/** A file of one card, and a server whose next write in place is interrupted. */
async function interruptWrite(functions: Partial<typeof fs.promises>) {
  const dataFile = temporaryData();
  const before = await open({ dataFile });
  const { body } = await before.issue(toSignUp());
  await before.close();
  const { service, close } = await open({ dataFile });
  refuseRename("EBUSY");
  replaceInFs(functions);
  service.reset();
  await expect(close()).rejects.toThrow("killed");
  return { dataFile, cardId: body.id as string };
}

it("keeps the cards when it is killed before it writes a file in place", async () => {
  const { writeFile } = fs.promises;
  const { dataFile, cardId } = await interruptWrite({
    async writeFile(file, text, options) {
      if (String(file).endsWith(".tmp")) return writeFile(file, text, options);
      await writeFile(file, "", options); // it is opened
      throw new Error("killed");
    },
  });
  expect(readCardIds(dataFile)).toEqual([cardId]);
});

it("refuses a file that was written in place and not shortened", async () => {
  const { dataFile } = await interruptWrite({
    truncate: () => Promise.reject(new Error("killed")),
  });
  await expect(startMockServer({ dataFile })).rejects.toThrow("it is not JSON");
});

it("does not overwrite the changes of a second server, says so once, and writes when the file is moved away", async () => {
  const dataFile = temporaryData();
  const lines: string[] = [];
  const first = await open({ dataFile, log: (line) => lines.push(line) });
  const second = await open({ dataFile });
  const { body: ofSecond } = await second.issue(toSignUp());
  await second.close();
  const refusal = `The data file ${dataFile} cannot be written (another program has changed it: use a file for each program, or move this one away).`;
  const { body: ofFirst } = await first.issue(toSignUp());
  await expect.poll(() => lines).toEqual([`${refusal} It is tried again.`]);
  expect(readCardIds(dataFile)).toEqual([ofSecond.id]);
  rmSync(dataFile);
  await first.close();
  expect(readCardIds(dataFile)).toEqual([ofFirst.id]);
});

/** The documented time is 200 ms or eleven writes; this is what a busy machine may make of it. */
const boundMs = 1_500;

it.each([[boundMs + 500], [Math.random() * 500]])(
  "has every card that is older than the documented time after SIGKILL, when it was written for %d ms",
  async (writingMs) => {
    const dataFile = temporaryData();
    const { child, firstOutput, exit } = start(...commandLine(dataFile));
    const issue = connect(await firstOutput);
    const issued: { id: string; atMs: number }[] = [];
    const endMs = performance.now() + writingMs;
    while (performance.now() < endMs) issued.push({ id: await issue(), atMs: performance.now() });
    child.kill("SIGKILL");
    const killedMs = performance.now();
    await exit;
    const stored = readCardIds(dataFile);
    expect(stored).toEqual(issued.slice(0, stored.length).map(({ id }) => id)); // and no gap
    expect(killedMs - (issued[stored.length]?.atMs ?? killedMs)).toBeLessThan(boundMs);
    const second = start(...commandLine(dataFile));
    const later = await connect(await second.firstOutput)();
    second.child.kill("SIGTERM");
    expect((await second.exit).code).toBe(0);
    expect(readCardIds(dataFile)).toEqual([...stored, later]);
  },
);

it("writes at most a tenth of the time", async () => {
  const dataFile = temporaryData();
  const { service } = await open({ dataFile });
  for (let count = 0; count < 300; count++) service.templates.create({ name: "n".repeat(100_000) });
  const { templates } = service.snapshot().state as { templates: Map<string, object> };
  const measureWriteMs = () => {
    const startedMs = performance.now();
    writeFileSync(`${dataFile}.copy`, JSON.stringify([...templates]));
    return performance.now() - startedMs;
  };
  const durationsMs = [measureWriteMs(), measureWriteMs()];
  const writes = new Set<number>();
  const endMs = performance.now() + 2_000;
  while (performance.now() < endMs) {
    service.faults.remove(service.faults.add({ kind: "duplicate" }).id);
    await nextTurn();
    writes.add(statSync(dataFile).mtimeMs);
  }
  durationsMs.push(measureWriteMs(), measureWriteMs());
  const shortestMs = Math.min(...durationsMs) / 2; // the server may be faster than these
  expect(writes.size).toBeLessThan(2 + 2_000 / (10 * shortestMs));
});

const hasPrlimit = spawnSync("prlimit", ["--version"]).status === 0;
if (!hasPrlimit) console.error("SKIPPED: a data file on a full disk, because prlimit is missing.");

/**
 * Starts a server that can write a few kilobytes, and issues cards until it logs that its file
 * cannot be written.
 */
async function fillDisk(dataFile: string) {
  await (await startMockServer({ dataFile })).close();
  // The system lets this process make no file larger than this.
  const limit = `ulimit -S -f ${Math.ceil(statSync(dataFile).size / 1024) + 4}; exec "$0" "$@"`;
  const child = spawn("bash", [
    "-c",
    limit,
    process.execPath,
    inject("bundledCommand"),
    ...commandLine(dataFile),
  ]);
  onTestFinished(() => void child.kill("SIGKILL"));
  let stderr = "";
  child.stderr.on("data", (chunk) => (stderr += chunk));
  const [line] = await once(child.stdout, "data");
  const issue = connect(String(line));
  const issued: string[] = [];
  while (!stderr.includes("\n")) issued.push(await issue());
  return { child, issue, issued, readLog: () => stderr };
}

const fullDisk = (file: string) =>
  `The data file ${file} cannot be written (EFBIG: file too large, write).`;

it.skipIf(!hasPrlimit)(
  "logs one line while the disk is full, goes on, and saves later",
  async () => {
    const dataFile = temporaryData();
    const { child, issue, issued, readLog } = await fillDisk(dataFile);
    const endMs = performance.now() + 500; // time for several attempts
    while (performance.now() < endMs) issued.push(await issue());
    expect(readLog()).toBe(`${fullDisk(dataFile)} It is tried again.\n`);
    spawnSync("prlimit", ["--pid", String(child.pid), "--fsize=unlimited"]);
    await expect.poll(() => readCardIds(dataFile)).toEqual(issued);
    expect(readLog().split("\n")).toHaveLength(2);
  },
);

it.skipIf(!hasPrlimit)(
  "exits with 1 and a line when the disk is still full at the end",
  async () => {
    const dataFile = temporaryData();
    const { child, readLog } = await fillDisk(dataFile);
    child.kill("SIGTERM");
    expect([(await once(child, "close"))[0], readLog().split("\n").slice(1)]).toEqual([
      1,
      [`loyalty-cards-mock: ${fullDisk(dataFile)}`, ""],
    ]);
  },
);

it("is readable for its user only, also when it was deleted, and follows no link", async () => {
  const [dataFile, other] = [temporaryData(), temporaryData()];
  writeFileSync(other, "of somebody else");
  symlinkSync(other, `${dataFile}.tmp`);
  const { issue, close } = await open({ dataFile });
  rmSync(dataFile);
  const { body } = await issue(toSignUp());
  await close();
  expect([readCardIds(dataFile), statSync(dataFile).mode & 0o777]).toEqual([[body.id], 0o600]);
  expect(readFileSync(other, "utf8")).toBe("of somebody else");
});
