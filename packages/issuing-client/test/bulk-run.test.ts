/** Bulk issuing with the mock service: one card per row, and a run that is resumed. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileCheckpoint, issueCards } from "@loyalty-cards/issuing-client/bulk";
import { expect, it, onTestFinished } from "vitest";
import { template } from "./scripted.ts";
import { openWebsite } from "./website.ts";

it("issues one card per row, and replays all of them when the run is resumed", async () => {
  const { client } = openWebsite();
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-bulk-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const consents = { privacy: { version: "1" } };
  const rows = Array.from({ length: 100 }, (_, userId) => ({
    userId,
    request: { fieldValues: { name: "Anna" }, customer: { email: `u${userId}@example.com`, consents } },
  }));
  const options = { template: template.id, checkpoint: fileCheckpoint(join(folder, "checkpoint")) };

  const cardIds = new Map<number, string>();
  for await (const result of issueCards(client, rows, options)) {
    if (result.status === "issued") cardIds.set(result.row.userId, result.card.id);
  }
  expect(new Set(cardIds.values()).size).toBe(100);
  for await (const result of issueCards(client, rows, options)) {
    expect(result).toMatchObject({ status: "replayed", cardId: cardIds.get(result.row.userId) });
  }
});
