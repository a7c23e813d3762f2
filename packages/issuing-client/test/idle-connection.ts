/** Reads a card, and does nothing else: the process must end although the connection is kept alive. */
import { createIssuingClient } from "../src/index.ts";

const client = createIssuingClient({ baseUrl: process.argv[2] ?? "", apiKey: "k" });
process.stdout.write((await client.getCard("card_1")).id);
