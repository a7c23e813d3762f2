/** Checkpoint files: permissions, damage, other runs, and two runs at once; and the whole of bulk issuing over sockets. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type BulkOptions,
  CheckpointError,
  fileCheckpoint,
  issueCards,
} from "@loyalty-cards/issuing-client/bulk";
import type { FaultInput } from "@loyalty-cards/mock-server";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { type CheckpointRecord, formatHeader, formatRecord } from "../../src/bulk/checkpoint.ts";
import { openFile } from "../../src/bulk/node-checkpoint.ts";
import { createIssuingClient } from "../../src/index.ts";
import { countStatuses, toRow, toRows } from "../bulk-service.ts";
import { template } from "../scripted.ts";

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-bulk-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}
const temporaryFile = () => join(temporaryFolder(), "checkpoint");

async function openService() {
  const { url, service, close } = await startMockServer({ templates: [template] });
  onTestFinished(close);
  const client = createIssuingClient({ baseUrl: url, apiKey: service.apiKeys.website, timeoutMs: 1_000 });
  const countCards = () => (service.snapshot().state as { cards: Map<string, unknown> }).cards.size;
  async function run(
    source: Iterable<ReturnType<typeof toRow>>,
    options: Partial<BulkOptions> = {},
    onResult: (count: number) => void = () => {},
  ) {
    const statuses: { status: string }[] = [];
    for await (const result of issueCards(client, source, { template: template.id, ...options })) {
      statuses.push(result);
      onResult(statuses.length);
    }
    return countStatuses(statuses);
  }
  return { service, client, run, countCards };
}

describe("bulk issuing over sockets", () => {
  it("issues one card per row when one of ten requests fails in every way that the mock service has", {
    timeout: 60_000,
  }, async () => {
    const { service, run, countCards } = await openService();
    const kinds = ["reset", "destroy", "truncate", "malformed", "hang", "html"] as const;
    const phases = ["before", "after-commit"] as const;
    const faults: FaultInput[] = phases.flatMap((phase) => [
      ...kinds.map((kind) => ({ phase, kind, times: 1 })),
      ...[429, 500, 503].map((status) => ({ phase, kind: "status" as const, status, times: 1 })),
    ]);
    const checkpoint = fileCheckpoint(temporaryFile());
    const injectFault = (count: number) => {
      const fault = count % 10 === 0 ? faults.shift() : undefined;
      if (fault !== undefined) service.faults.add(fault);
    };
    expect(await run(toRows(360), { checkpoint, concurrency: 4 }, injectFault)).toEqual({ issued: 360 });
    expect(faults).toEqual([]);
    expect(countCards()).toBe(360);
    expect(await run(toRows(360), { checkpoint })).toEqual({ replayed: 360 });
  });

  it("creates one customer for rows of one person, although they find or create it", async () => {
    const { service, run } = await openService();
    const rows = toRows(40).map((_, index) => toRow(index, { phone: `+4860010020${index % 4}`, email: "" }));
    await run(rows);
    expect((service.snapshot().state as { customers: Map<string, unknown> }).customers.size).toBe(4);
  });
});

describe("a checkpoint file", () => {
  it("can be read by its owner only", async () => {
    const { run } = await openService();
    const file = temporaryFile();
    await run(toRows(3), { checkpoint: fileCheckpoint(file) });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(existsSync(`${file}.lock`)).toBe(false);
    expect(readFileSync(file, "utf8")).not.toContain("example.com");
  });

  it("can be moved to another folder between two runs", async () => {
    const { run } = await openService();
    const [file, moved] = [temporaryFile(), temporaryFile()];
    await run(toRows(20), { checkpoint: fileCheckpoint(file) });
    copyFileSync(file, moved);
    expect(await run(toRows(30), { checkpoint: fileCheckpoint(moved) })).toEqual({
      replayed: 20,
      issued: 10,
    });
  });

  it("that is not a checkpoint is refused and left as it is", async () => {
    const { run, countCards } = await openService();
    for (const content of ["phone,email\n+48600100200,\n", "no line", "\n", "x".repeat(200_000), "{}"]) {
      const file = temporaryFile();
      writeFileSync(file, content);
      const error = await run(toRows(3), { checkpoint: fileCheckpoint(file) }).catch((thrown) => thrown);
      expect(error).toBeInstanceOf(CheckpointError);
      expect(error).toMatchObject({
        reason: "unreadable",
        message: expect.stringContaining(`${file} is not a checkpoint`),
      });
      expect(readFileSync(file, "utf8")).toBe(content);
      expect(existsSync(`${file}.lock`)).toBe(false);
    }
    expect(countCards()).toBe(0);
  });

  it("of another run is refused, and the message names what differs", async () => {
    const { service, run } = await openService();
    const file = temporaryFile();
    const checkpoint = fileCheckpoint(file);
    await run(toRows(3), { checkpoint, description: "members.csv" });
    const before = readFileSync(file, "utf8");
    const other = service.templates.create({ name: "Other", fields: [] }).id;
    const cases: [Partial<BulkOptions>, RegExp][] = [
      [{ description: "customers.csv" }, /of a run with another source or mapping \(description\)\. Use/],
      [{ description: "members.csv", template: other }, /of a run with another template\./],
      [{ template: other }, /another source or mapping \(description\) and another template/],
    ];
    for (const [options, message] of cases) {
      const error = await run(toRows(4), { checkpoint, ...options }).catch((thrown) => thrown);
      expect(error).toMatchObject({
        name: "CheckpointError",
        reason: "other-run",
        message: expect.stringMatching(message),
      });
    }
    const elsewhere = await openService();
    await expect(elsewhere.run(toRows(3), { checkpoint, description: "members.csv" })).rejects.toThrow(
      /another baseUrl/,
    );
    expect(readFileSync(file, "utf8")).toBe(before);
  });

  it("is used by one run at a time, whatever path leads to it", async () => {
    const { client, run } = await openService();
    const file = temporaryFile();
    const first = issueCards(client, toRows(100), {
      template: template.id,
      checkpoint: fileCheckpoint(file),
    });
    await first.next();
    symlinkSync(file, `${file}.link`);
    for (const name of [file, `${file}.link`]) {
      const error = await run(toRows(100), { checkpoint: fileCheckpoint(name) }).catch((thrown) => thrown);
      expect(error).toMatchObject({
        reason: "in-use",
        message: expect.stringContaining(`process ${process.pid} has it, since 20`),
      });
    }
    await first.return();
    expect(Object.keys(await run(toRows(100), { checkpoint: fileCheckpoint(file) }))).toContain("replayed");
  });

  it("is taken over from a process that was killed", async () => {
    const file = temporaryFile();
    const holder = join(import.meta.dirname, "bulk-holder.ts");
    const args = ["--conditions=@loyalty-cards/source", "--import", "tsx", holder, file];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    await once(child.stdout, "data");
    const header = { description: "", template: "", baseUrl: "", namespace: "" };
    await expect(openFile(file, header)).rejects.toThrow(`process ${child.pid} has it`);
    child.kill("SIGKILL");
    await once(child, "exit");
    const session = await openFile(file, header);
    expect(await session.find("key_1")).toMatchObject({ cardId: "card_1" });
    await session.close();
  });
});

describe("a damaged checkpoint file", () => {
  const header = { description: "d", template: "t", baseUrl: "b", namespace: "n" };
  const records: CheckpointRecord[] = [
    { keyHash: "key_1", rowHash: "row_1", firstAttemptAt: 1 },
    { keyHash: "key_2", rowHash: "row_2", firstAttemptAt: 2 },
    { keyHash: "key_1", rowHash: "row_1", firstAttemptAt: 1, outcome: "issued", cardId: "card_ł" },
    { keyHash: "key_2", rowHash: "row_2", firstAttemptAt: 2, outcome: "rejected" },
  ];
  const lines = [formatHeader(header), ...records.map(formatRecord)];
  const content = Buffer.from(lines.join(""));

  /** @returns the records of the two keys, after another record was appended and the file was opened again. */
  async function reopen(bytes: Uint8Array) {
    const file = temporaryFile();
    writeFileSync(file, bytes);
    const session = await openFile(file, header);
    const found = [await session.find("key_1"), await session.find("key_2")];
    const added = { keyHash: "key_3", rowHash: "row_3", firstAttemptAt: 3 };
    await session.append([added]);
    expect(await session.find("key_3")).toEqual(added);
    await session.close();
    const again = await openFile(file, header);
    expect([await again.find("key_1"), await again.find("key_2"), await again.find("key_3")]).toEqual([
      ...found,
      added,
    ]);
    await again.close();
    return found;
  }

  it("loses only the record that was cut off, wherever a crash cut it off", { timeout: 60_000 }, async () => {
    const ends = lines.map((_, index) => Buffer.byteLength(lines.slice(0, index + 1).join("")));
    for (let length = 0; length <= content.length; length++) {
      const complete = ends.filter((end) => end <= length).length;
      const kept = records.slice(0, Math.max(0, complete - 1));
      const expected = ["key_1", "key_2"].map((key) => kept.findLast(({ keyHash }) => keyHash === key));
      expect(await reopen(content.subarray(0, length))).toEqual(expected);
    }
  });

  it("is never read as something else when bytes are changed", { timeout: 60_000 }, async () => {
    const change = fc.tuple(fc.nat(content.length - 1), fc.integer({ min: 1, max: 255 }));
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
        const bytes = Buffer.from(content);
        for (const [position, bits] of changes) bytes[position] = (bytes[position] ?? 0) ^ bits;
        fc.pre(!bytes.equals(content));
        const found = await reopen(bytes).catch((error) => error);
        if (found instanceof CheckpointError) expect(found.reason).toBe("unreadable");
        else {
          const [one, two] = found;
          expect([records[0], records[2], undefined]).toContainEqual(one);
          expect([records[1], records[3], undefined]).toContainEqual(two);
        }
      }),
      { numRuns: 100 },
    );
  });

  it("is refused when a line in the middle is damaged, and the message names the line", async () => {
    const file = temporaryFile();
    const damaged = [...lines];
    damaged[2] = `${damaged[2]?.slice(0, 20)}\n`;
    writeFileSync(file, damaged.join(""));
    const error = await openFile(file, header).catch((thrown) => thrown);
    expect(error).toMatchObject({
      reason: "unreadable",
      message: expect.stringContaining("is damaged in line 3"),
    });
    expect(readFileSync(file, "utf8")).toBe(damaged.join(""));
  });

  it("is repaired when a crash of the machine left zeros at its end", async () => {
    const file = temporaryFile();
    writeFileSync(file, content);
    appendFileSync(file, Buffer.alloc(300_000));
    const session = await openFile(file, header);
    expect(await session.find("key_2")).toEqual(records[3]);
    await session.close();
    expect(statSync(file).size).toBe(content.length);
  });
});
