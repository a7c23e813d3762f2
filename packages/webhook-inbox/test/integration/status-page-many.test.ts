/** The status page with more entries than it shows: a button changes all of them, and the page says how many. */
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import { expect, it, onTestFinished } from "vitest";
import { fetchStatusPage } from "../../src/status/index.ts";
import { balanceChanged, put } from "../events.ts";
import { openInbox, scratchFile } from "../sqlite-files.ts";

type Source = Parameters<typeof fetchStatusPage>[0];

function openPage(source: Source) {
  const respond = fetchStatusPage(source, { authorize: "external" });
  const read = async (query = "") => (await respond(new Request(`http://shop.test/admin${query}`))).text();
  return {
    read,
    /** Sends a form, follows the redirect, and returns the status and the message of the page. */
    async send(...fields: [string, string][]) {
      const init = { method: "POST", body: new URLSearchParams(fields) };
      const response = await respond(new Request("http://shop.test/admin", init));
      const location = response.headers.get("location");
      const page = location === null ? await response.text() : await read(location);
      return [response.status, /<p class="note \w+" role="status">(.*)<\/p>/.exec(page)?.[1]];
    },
  };
}

it("replays more dead letters than the page reads, of a group and of all groups", async () => {
  const inbox = openInbox();
  const numbers = Array.from({ length: 1_100 }, (_, index) => index);
  await Promise.all(numbers.map((number) => put(inbox, balanceChanged(`evt_${number}`))));
  const failures = [new TypeError("a"), new RangeError("b")];
  const worker = inbox.work(
    ({ id }) => {
      throw failures[id.endsWith("00") ? 1 : 0];
    },
    { maxAttempts: 1, concurrency: 100 },
  );
  await expect.poll(async () => (await inbox.health()).dead).toBe(1_100);
  await worker.stop();

  const { read, send } = openPage(inbox);
  const page = await read();
  expect(page).toContain("<strong>1,100</strong><span>dead letters</span>");
  expect(page).toContain(
    "The oldest 1,000 of 1,100. “Replay all” and “Replay this group” include the others.",
  );
  const group = /name="group" value="(TypeError[^"]*)"/.exec(page)?.[1] ?? "";
  const more = "A replayed event has all of its attempts again and waits for its handler.";
  expect(await send(["group", group.replaceAll("&lt;", "<").replaceAll("&gt;", ">")])).toEqual([
    303,
    `Replayed 1,090 events. ${more}`,
  ]);
  expect(await send(["id", "evt_100"], ["id", "evt_1"])).toEqual([303, `Replayed 1 of 2 events. ${more}`]);
  expect(await send(["all", "1"])).toEqual([303, `Replayed 9 events. ${more}`]);
  expect(await inbox.health()).toMatchObject({ waiting: 1_100, dead: 0 });
  expect(await read("?replayed=<b>&of=1")).not.toContain("<b>");
});

it("retries more entries of an outbox than the page reads, and skips one that cannot be retried", async () => {
  const client = createIssuingClient({ baseUrl: "http://127.0.0.1:1", apiKey: "key" });
  const outbox = sqliteOutbox({ client, file: scratchFile("shop.db"), log: () => {} });
  onTestFinished(() => outbox.close());
  const request = { customer: { consents: { privacy: { version: "1" } } } };
  const firstAttemptAt = Date.now() - 25 * 3_600_000; // longer than an idempotency key lives
  const old = { userId: "user-old", template: "tpl_coffee", request, firstAttemptAt };
  await outbox.addAll([old]);
  await outbox.issue("user-old");
  await outbox.addAll(
    Array.from({ length: 1_100 }, (_, userId) => ({ userId, template: "tpl_coffee", request })),
  );

  const { send } = openPage(outbox);
  const due = "A retried entry is due now.";
  const all = await send(["state", "waiting"], ["all", "1"]);
  expect(all).toEqual([303, `Retried 1,100 entries. ${due}`]);
  const [waiting, unknown] = ["7", "user-old"].map((user) => JSON.stringify([user, "tpl_coffee"]));
  const selection: [string, string][] = [
    ["id", waiting ?? ""],
    ["id", unknown ?? ""],
  ];
  expect(await send(...selection)).toEqual([303, `Retried 1 of 2 entries. ${due}`]);
  expect(await send(["id", unknown ?? ""])).toEqual([409, expect.stringContaining("A card may exist")]);
});
