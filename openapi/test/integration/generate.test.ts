/** `npm run generate`: fresh, pulled from a running service, and refusing what is no contract of ours. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { pull } from "../../scripts/pull.ts";
import { schemaTypes } from "../../scripts/schema-types.ts";

const snapshot = new URL("../../openapi.yaml", import.meta.url);
const yaml = readFileSync(snapshot, "utf8");

async function generate(...args: string[]) {
  const script = fileURLToPath(new URL("../../scripts/generate.ts", import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", script, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  const code = await new Promise((resolve) => child.on("close", resolve));
  return { code, stdout, stderr };
}

async function serving(body: string, status = 200): Promise<string> {
  const server = createServer((_request, response) => void response.writeHead(status).end(body));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The document, changed. */
function changed(change: (document: typeof openapi) => void): string {
  const document = structuredClone(openapi);
  change(document);
  return JSON.stringify(document);
}

it("finds everything fresh", async () => {
  expect(await generate("--check")).toEqual({ code: 0, stdout: "", stderr: "" });
});

it("pulled from the running mock server, finds the contract unchanged and leaves the file alone", async () => {
  const { url, close } = await startMockServer();
  onTestFinished(close);
  expect(await generate("--from", url)).toEqual({
    code: 0,
    stdout: "The contract has not changed.\n",
    stderr: "",
  });
  expect(readFileSync(snapshot, "utf8")).toBe(yaml);
});

describe("a service whose contract has changed", () => {
  it("has each change named, and the snapshot brought up to it with its comments kept", async () => {
    const from = await serving(
      changed((document) => {
        document.info.version = "1.1.0";
        Object.assign(document.components.schemas.Card.properties, { expiresAt: { type: "string" } });
        Reflect.deleteProperty(document.components.schemas.Customer.properties, "name");
        document.servers = [];
      }),
    );
    const { yaml: next, changes } = await pull(from, yaml);
    expect(changes).toEqual([
      "changed info › version",
      "added   components › schemas › Card › properties › expiresAt",
      "removed components › schemas › Customer › properties › name",
    ]);
    const document = parse(next);
    expect(document.components.schemas.Card.properties.expiresAt).toEqual({ type: "string" });
    expect(document.components.schemas.Customer.properties.name).toBeUndefined();
    expect(document.servers).toEqual(openapi.servers);
    expect(next.startsWith("# The service's contract")).toBe(true);
    expect(await schemaTypes(next)).toContain("expiresAt?: string");
  });

  it("is taken whole where an alias of the file stands in the way", async () => {
    const from = await serving(
      changed((document) =>
        Object.assign(document.webhooks.ping.post.responses, { "299": { description: "x" } }),
      ),
    );
    const { yaml: next } = await pull(from, yaml);
    const document = parse(next);
    expect(document.webhooks.ping.post.responses["299"]).toEqual({ description: "x" });
    expect(document.webhooks["card.added"].post.responses["299"]).toBeUndefined();
  });
});

describe("refuses, before anything is written,", () => {
  it.each([
    ["an address that is no URL", () => "cards", /is not a URL/],
    ["a page", () => serving("<html>"), /is not an OpenAPI 3 document/],
    ["a document of version 2", () => serving('{"swagger":"2.0"}'), /is not an OpenAPI 3 document/],
    ["an error", () => serving("", 500), /answered 500/],
    [
      "another service's document",
      () => serving(changed((document) => Reflect.deleteProperty(document.paths, "/passes/{id}/consent"))),
      /has no GET \/passes\/\{id\}\/consent/,
    ],
  ])("%s", async (_name, from, message) => {
    await expect(pull(await from(), yaml)).rejects.toThrow(message);
  });

  it.each([
    ["nobody listening", ["--from", "http://127.0.0.1:1"], /does not answer/],
    ["an unknown flag", ["--form", "x"], /--form/],
    ["flags that contradict each other", ["--check", "--from", "x"], /not both/],
  ])("%s, with one line and exit code 2", async (_name, args, message) => {
    const { code, stdout, stderr } = await generate(...args);
    expect([code, stdout, stderr.trim().split("\n").length]).toEqual([2, "", 1]);
    expect(stderr).toMatch(message);
    expect(readFileSync(snapshot, "utf8")).toBe(yaml);
  });
});
