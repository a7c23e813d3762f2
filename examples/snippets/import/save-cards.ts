/** Stores the results of an import in the shop's database. */
import { createReadStream } from "node:fs";
import type { SqliteOutbox } from "@loyalty-cards/issuing-outbox";
import { parse } from "csv-parse"; // npm install csv-parse

const update = "UPDATE users SET card = ?, page = NULLIF(?, '') WHERE id = ?";

/** @param file such as members.cards.csv; its delimiter is that of the list. */
export async function saveCards(
  file: string,
  outbox: SqliteOutbox,
  delimiter = ",",
) {
  type Row = Record<"user_id" | "card_id" | "url", string>;
  const save = (rows: Row[]) =>
    outbox.write((database) => {
      const statement = database.prepare(update);
      for (const { user_id, card_id, url } of rows)
        statement.run(card_id, url, user_id);
    });
  let batch: Row[] = []; // one transaction for 1,000 rows
  const rows = createReadStream(file).pipe(parse({ columns: true, delimiter }));
  for await (const row of rows) {
    batch.push(row);
    if (batch.length < 1000) continue;
    await save(batch);
    batch = [];
  }
  await save(batch);
}
