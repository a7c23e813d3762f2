/** Starts a shop of the first guide with this Node, and signs a user up: `shop.mjs FILE`, under `loyalty-cards exec`. Prints "works". */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const [, , file] = process.argv;
const server = createServer().listen(0);
await once(server, "listening");
const { port } = server.address();
await new Promise((resolve) => server.close(resolve));

const env = { ...process.env, PORT: String(port), SHOP_FILE: `${file}.db` };
const shop = spawn(process.execPath, [file], { env, stdio: ["ignore", "pipe", "inherit"] });
const exited = once(shop, "exit");
try {
  const opened = once(createInterface(shop.stdout), "line");
  const [line] = await Promise.race([opened, exited]);
  if (line !== `The shop is open on port ${port}.`) throw new Error(`${file} ended or printed: ${line}`);
  const response = await fetch(`http://localhost:${port}/sign-up`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "Anna", email: "anna@example.com", phone: "600100200" }),
  });
  const { cardId } = await response.json();
  console.log(response.status === 201 && /^card_/.test(cardId) ? "works" : `responded ${response.status}`);
} finally {
  shop.kill();
  await exited;
}
