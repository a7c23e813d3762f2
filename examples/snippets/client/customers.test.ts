/** `customers.ts`: the command that it names generates its types from a service's document, and its call reaches that service. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { listen, scratchFile } from "@loyalty-cards/testing/resources";
import { expect, it, vi } from "vitest";

/** An operation that openapi.yaml does not have. */
const document = {
  openapi: "3.1.0",
  info: { title: "Loyalty cards", version: "1" },
  paths: {
    "/api/v1/customers/{id}": {
      get: {
        summary: "Read a customer",
        parameters: [
          { name: "id", in: "path", required: true, schema: { type: "string" } },
        ],
        responses: {
          200: {
            description: "The customer",
            content: {
              "application/json": {
                schema: {
                  type: "object",
                  properties: { phone: { type: "string" } },
                },
              },
            },
          },
          404: {
            description: "Unknown",
            content: {
              "application/problem+json": {
                schema: {
                  type: "object",
                  required: ["detail"],
                  properties: { detail: { type: "string" } },
                },
              },
            },
          },
        },
      },
    },
  },
};

async function openService(): Promise<string> {
  const bodies: Record<string, object> = {
    "/api/docs/json": document,
    "/api/v1/customers/7": { phone: "+48600100200" },
  };
  const server = createServer(({ url = "" }, response) => {
    const body = bodies[url];
    response.writeHead(body ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(body ?? { detail: "Customer not found." }));
  });
  const address = await listen(server);
  Object.assign(process.env, { LOYALTY_URL: address, LOYALTY_API_KEY: "key" });
  return address;
}

it("has the types that openapi-typescript generates from the service's document", async () => {
  const file = scratchFile("loyalty.ts");
  const program = "../../../node_modules/openapi-typescript/bin/cli.js";
  const command = fileURLToPath(new URL(program, import.meta.url));
  const source = `${await openService()}/api/docs/json`;
  await promisify(execFile)(process.execPath, [command, source, "-o", file]);

  const stored = fileURLToPath(new URL("loyalty.ts", import.meta.url));
  const readWithoutSpaces = (path: string) =>
    readFileSync(path, "utf8").replace(/\s+/g, "");
  expect(readWithoutSpaces(stored)).toBe(readWithoutSpaces(file));
});

it("returns what the service responds, and throws what it says", async () => {
  await openService();
  vi.resetModules(); // the client reads the environment when it is created
  const { getPhone } = await import("./customers.ts");
  expect(await getPhone("7")).toBe("+48600100200");
  await expect(getPhone("8")).rejects.toThrow("Customer not found.");
});
