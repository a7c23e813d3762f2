/** Uses a checkpoint file until it is killed. */
import { openFile } from "../../src/bulk/node-checkpoint.ts";

const session = await openFile(process.argv[2] ?? "", {
  description: "",
  template: "",
  baseUrl: "",
  namespace: "",
});
await session.append([
  { keyHash: "key_1", rowHash: "row_1", firstAttemptAt: 1, outcome: "issued", cardId: "card_1" },
]);
process.stdout.write("open\n");
setInterval(() => {}, 60_000);
