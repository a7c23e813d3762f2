/** The lock of a data file: one server at a time, also after kills, in links and across containers. */
import { existsSync, mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { startMockServer } from "../../src/adapters/node.ts";
import { start } from "./command.ts";
import { open, optionsFor, readCardIds, startOn, temporaryData } from "./data-files.ts";

describe("a second server on the same file", () => {
  it("refuses to start and names the first server, until that one is killed", {
    timeout: 60_000,
  }, async () => {
    const data = temporaryData();
    const first = await startOn(data);
    const { body: card } = await first.issue();
    const link = `${data}.link`;
    symlinkSync(data, link);
    for (const name of [data, link]) {
      const { code, stderr } = await start(...optionsFor(name)).exit;
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining(`process ${first.child.pid} uses it, at ${first.baseUrl} since 20`),
      ]);
      expect(stderr).toContain(`--data ${name} cannot be used`);
    }
    await expect(startMockServer({ data })).rejects.toThrow(first.baseUrl);
    const { body: later } = await first.issue();
    first.child.kill("SIGKILL");
    await first.exit;
    const second = await startOn(data);
    expect(await readCardIds(second.call)).toEqual(new Set([card.id, later.id]));
    second.child.kill("SIGTERM");
    expect((await second.exit).code).toBe(0);
    expect(existsSync(`${data}.lock`)).toBe(false);
  });

  it("refuses to start in the same process too, until the first server is closed", async () => {
    const data = temporaryData();
    const first = await open({ data });
    await expect(startMockServer({ data })).rejects.toThrow(
      `process ${process.pid} uses it, at ${first.url}`,
    );
    await first.close();
    await open({ data });
  });

  it("serves with one of four servers that start at the same moment; the others name it", {
    timeout: 60_000,
  }, async () => {
    const data = temporaryData();
    const servers = Array.from({ length: 4 }, () => start(...optionsFor(data)));
    const outcomes = await Promise.all(
      servers.map(({ firstOutput, exit }) => Promise.race([firstOutput, exit.then(({ stderr }) => stderr)])),
    );
    expect(outcomes.filter((text) => text.startsWith("{"))).toHaveLength(1);
    expect(outcomes.filter((text) => /uses it/.test(text))).toHaveLength(3);
  });

  it("replaces the lock of a dead process whose id another process has now", async () => {
    const data = temporaryData();
    const { close } = await open({ data });
    const [entry = ""] = readdirSync(`${data}.lock`);
    await close();
    const [pid, ticks, ...rest] = entry.split("_");
    mkdirSync(`${data}.lock`);
    writeFileSync(
      join(`${data}.lock`, [pid, `${ticks}0`, ...rest].join("_")),
      '{"url":"http://127.0.0.1:1","since":"2026-01-01T00:00:00.000Z"}',
    );
    await open({ data });
    expect(readdirSync(`${data}.lock`)).toHaveLength(1);
  });

  it("refuses to start while a server in another container updates its lock", async () => {
    const data = temporaryData();
    mkdirSync(`${data}.lock`);
    const entry = join(`${data}.lock`, "1_5_elsewhere_0123abcd");
    writeFileSync(entry, '{"url":"http://cards:4010","since":"2026-01-01T00:00:00.000Z"}');
    const beat = setInterval(() => utimesSync(entry, new Date(), Date.now() / 1000), 200);
    onTestFinished(() => clearInterval(beat));
    await expect(startMockServer({ data })).rejects.toThrow(
      /process 1 uses it, at http:\/\/cards:4010 since 2026/,
    );
    clearInterval(beat);
    await open({ data });
  });
});
