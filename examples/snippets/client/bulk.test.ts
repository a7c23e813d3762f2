/** The example of bulk issuing, run against the mock service: stopped, resumed, and with a member that is rejected. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { expect, it, onTestFinished, vi } from "vitest";
import { issueToMembers, type Member } from "./bulk.ts";

async function* readMembers() {
  for (let id = 0; id < 300; id++) {
    yield { id, name: "Anna", phone: id === 7 ? "12" : `+48${600_100_200 + id}`, privacyVersion: "2026-01" };
  }
}

it("issues one card to each member, also when it was stopped and resumed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-bulk-"));
  const before = process.cwd();
  process.chdir(folder); // the checkpoint is in the current folder
  vi.spyOn(console, "error").mockImplementation(() => {});
  const fields = [{ key: "name", type: "name", required: true }] as const;
  const { url, service, close } = await startMockServer({
    templates: [{ id: "tpl_coffee", name: "Coffee club", fields }],
  });
  onTestFinished(async () => {
    process.chdir(before);
    rmSync(folder, { recursive: true });
    await close();
  });
  const loyalty = createIssuingClient({ baseUrl: url, apiKey: service.apiKeys.website });

  const cards = new Map<number, string>();
  const controller = new AbortController();
  const store = async ({ id }: Member, cardId: string) => {
    cards.set(id, cardId);
    if (cards.size === 100) controller.abort("stopped");
  };
  await expect(issueToMembers(loyalty, readMembers(), store, controller.signal)).rejects.toBe("stopped");
  const failed = await issueToMembers(loyalty, readMembers(), store);
  expect(failed.map(({ id }) => id)).toEqual([7]);
  expect(new Set(cards.values()).size).toBe(299);
  expect((service.snapshot().state as { cards: Map<string, unknown> }).cards.size).toBe(299);
});
