/** A service that responds at once, in a separate process, so that the client has its own core. */
import { createServer } from "node:http";

const card = JSON.stringify({
  id: "card_1",
  publicUrl: "https://cards.test/cards/1",
  status: "active",
  customerId: "cus_1",
  loyaltyBalance: 0,
  loyaltyTier: null,
  issuedVia: "website",
  fieldValues: { name: "Anna", points: 0 },
});
const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(card) };

const server = createServer((request, response) => {
  request.resume().on("end", () => response.writeHead(201, headers).end(card));
});
server.listen(0, "127.0.0.1", () => process.send?.(server.address().port));
process.on("disconnect", () => process.exit()); // the benchmark has ended
