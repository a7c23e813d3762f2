/** `issue`, `card`, `operations` and `consent`: one card. */
import type { Command } from "commander";
import { addExamples, type Cli, parseWhole, setAction } from "../command.ts";
import { formatTable } from "../printer.ts";

export function addCardCommands(program: Command, cli: Cli): void {
  const operations = program
    .command("operations")
    .description("print the operations of a card, newest first")
    .argument("<card-id>", "id of the card")
    .option("--limit <number>", "how many operations", parseWhole(1, 100));
  addExamples(operations, "loyalty-cards operations card_8sT2kq --limit 5");
  setAction<{ limit?: number }>(
    cli,
    operations,
    async ({ print, createClient }, { limit }, cardId: string) => {
      const client = await createClient();
      const list = await client.listOperations(cardId, limit === undefined ? {} : { limit });
      print.data(list, () =>
        list.length === 0
          ? "This card has no operations."
          : formatTable(
              list.map(({ id, type, change, balance, createdAt }) => [
                createdAt ?? "",
                type ?? "",
                change ?? "",
                balance ?? "",
                id,
              ]),
              ["Time", "Type", "Change", "Balance", "Id"],
            ),
      );
      return undefined;
    },
  );
}
