/** Counts of a checkpoint file. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileCheckpoint } from "@loyalty-cards/issuing-client/bulk";
import { expect, it, onTestFinished } from "vitest";

it("counts the latest record of each key, also while a run uses the file", async () => {
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-bulk-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "checkpoint");
  expect(await fileCheckpoint(file).count()).toBeUndefined();
  const header = { description: "d", template: "t", baseUrl: "b", namespace: "" };
  const session = await fileCheckpoint(file).open(header);
  const record = (keyHash: string) => ({ keyHash, rowHash: "r", firstAttemptAt: 1 });
  await session.append(["a", "b", "c", "d"].map(record));
  await session.append([
    { ...record("a"), outcome: "issued", cardId: "card" },
    { ...record("b"), outcome: "rejected" },
    { ...record("c"), outcome: "unknown" },
  ]);
  expect(await fileCheckpoint(file).count()).toEqual({ issued: 1, rejected: 1, unknown: 1, running: 1 });
  await session.append([record("b"), { ...record("b"), outcome: "issued", cardId: "card" }]);
  expect(await fileCheckpoint(file).count()).toEqual({ issued: 2, rejected: 0, unknown: 1, running: 1 });
  await session.append([{ ...record("d"), outcome: "not-sent" }]);
  expect(await fileCheckpoint(file).count()).toEqual({ issued: 2, rejected: 0, unknown: 1, running: 0 });
  await session.append([record("d")]);
  expect(await fileCheckpoint(file).count()).toEqual({ issued: 2, rejected: 0, unknown: 1, running: 1 });
  await session.close();
  const content = readFileSync(file, "utf8");
  writeFileSync(file, content.replace("bulk 1", "bulk 2"));
  const otherVersion = {
    reason: "unreadable",
    message: expect.stringContaining("written by another version"),
  };
  await expect(fileCheckpoint(file).count()).rejects.toMatchObject(otherVersion);
  await expect(fileCheckpoint(file).open(header)).rejects.toMatchObject(otherVersion);
  expect(readFileSync(file, "utf8")).toBe(content.replace("bulk 1", "bulk 2"));
  writeFileSync(file, "something else\n");
  await expect(fileCheckpoint(file).count()).rejects.toMatchObject({ reason: "unreadable" });
});
