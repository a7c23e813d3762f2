/** Stores the results of an import in the shop's database. */
import { createReadStream } from "node:fs";
import type { SqliteOutbox } from "@loyalty-cards/issuing-outbox";
import { parse } from "csv-parse"; // npm install csv-parse

const update = "UPDATE users SET card = ?, page = NULLIF(?, '') WHERE id = ?";

/** Removes the quote mark before what a spreadsheet would run as a formula. */
const cast = (value: string) => value.replace(/^'/, "");

/**
 * @param file such as members.cards.csv; its delimiter is that of the list.
 * @throws when the database does not have all users. The cards of the others are stored.
 */
export async function saveCards(
  file: string,
  outbox: SqliteOutbox,
  delimiter = ",",
) {
  type Row = Record<"user_id" | "card_id" | "url", string>;
  const missing: string[] = [];
  const save = (rows: Row[]) =>
    outbox.write((database) => {
      const statement = database.prepare(update);
      for (const { user_id, card_id, url } of rows) {
        const { changes } = statement.run(card_id, url, user_id);
        if (Number(changes) === 0) missing.push(user_id);
      }
    });
  let batch: Row[] = []; // one transaction for 1,000 rows
  const columns = ["user_id", "card_id", "url"]; // throws for another delimiter
  const options = { columns, from_line: 2, delimiter, cast };
  const rows = createReadStream(file).pipe(parse(options));
  for await (const row of rows) {
    batch.push(row);
    if (batch.length < 1000) continue;
    await save(batch);
    batch = [];
  }
  await save(batch);
  if (missing.length > 0)
    throw new Error(`Not in the table users: ${missing.join(", ")}`);
}
