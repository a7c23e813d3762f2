/**
 * Starts servers, in this process or as the command `loyalty-cards-mock` in one of its own;
 * receivers, and raw requests.
 */
import { spawn } from "node:child_process";
import type { RequestListener } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { caller, shopTemplate } from "@loyalty-cards/testing/mock-shop";
import { createFolder, listen as listenOn } from "@loyalty-cards/testing/resources";
import { inject, onTestFinished } from "vitest";
import { type MockServerOptions, startMockServer } from "../../src/adapters/node.ts";

/** A server in this process on a free port, until the end of the test. */
export async function openServer(options: MockServerOptions = {}) {
  const server = await startMockServer({ templates: [shopTemplate], log: () => {}, ...options });
  onTestFinished(() => server.close().catch(() => {}));
  return server;
}

export function start(...args: string[]) {
  const child = spawn(process.execPath, [inject("bundledCommand"), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let [stdout, stderr] = ["", ""];
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  const firstOutput = new Promise<string>((resolve) =>
    child.stdout.on("data", (chunk) => {
      stdout += chunk;
      resolve(stdout);
    }),
  );
  const exit = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) =>
    child.on("close", (code) => resolve({ code, stdout, stderr })),
  );
  return { child, firstOutput, exit };
}

export const temporaryFile = (content: string) =>
  join(createFolder({ "seed.json": content }), "seed.json");

/** Calls the server of a process that has printed its first line, as a website. */
export function connectTo(firstLine: string) {
  const { baseUrl, apiKeys, templateId, endpoints } = JSON.parse(firstLine);
  const call = caller(baseUrl, fetch, apiKeys.website);
  const issue = (body: unknown, headers = {}) =>
    call("POST", `/api/v1/templates/${templateId}/passes`, { body, headers });
  return { baseUrl, templateId, endpoints, call, issue };
}

/**
 * Starts a receiver.
 * @returns its address.
 */
export const listen = async (listener: RequestListener) => `${await listenOn(listener)}/webhooks`;

/** Sends text to a server, and resolves with what came back before the connection closed. */
export const sendRaw = (url: string, text: string) =>
  new Promise<string>((resolve) => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    let received = "";
    socket.on("data", (chunk) => (received += chunk)).on("error", () => {});
    socket.on("close", () => resolve(received));
    socket.write(text);
  });
