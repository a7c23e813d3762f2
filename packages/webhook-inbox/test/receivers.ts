/** Starts receivers in separate processes, bundled from the sources, and delivers events to them. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { signWebhookSync, type WebhookEvent } from "@loyalty-cards/webhook-verify";
import { onTestFinished } from "vitest";
import { bundleReceiver, type Engine } from "./engines.ts";
import { toBody } from "./events.ts";
import { scratchFile } from "./sqlite-files.ts";

export const secret = "whsec_1";

export interface ReceiverProcess {
  url: string;
  /** Resolves when a handler has ended in this process. */
  done: Promise<void>;
  /** Resolves when the next handler ends in this process. */
  nextDone(): Promise<void>;
  /** Whether the process has ended by itself. */
  hasEnded(): boolean;
  recorded(): Promise<{ stored: number; duplicate: number }>;
}

export async function startReceiver(engine: Engine): Promise<ReceiverProcess> {
  const settings = {
    engine: engine.name,
    port: 0,
    secret,
    runsFile: scratchFile("runs"),
    ...engine.settings,
  };
  const program = await bundleReceiver("sources");
  const child = spawn(engine.node ?? process.execPath, [program, JSON.stringify(settings)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(
    () =>
      new Promise((resolve) => {
        if (!child.kill("SIGKILL")) resolve();
        else child.once("exit", () => resolve());
      }),
  );
  const lines = createInterface({ input: child.stdout });
  const nextDone = () =>
    new Promise<void>((resolve) => {
      lines.on("line", function onLine(line) {
        if (line !== "done") return;
        lines.off("line", onLine);
        resolve();
      });
    });
  const done = nextDone();
  const port = await new Promise<string>((resolve, reject) => {
    lines.once("line", resolve);
    child.once("error", reject);
    lines.once("close", () => reject(new Error("The receiver's process ended.")));
  });
  const url = `http://127.0.0.1:${port}/`;
  const recorded = async () =>
    ((await (await fetch(url)).json()) as { recorded: { stored: number; duplicate: number } }).recorded;
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  return { url, done, nextDone, hasEnded, recorded };
}

/** Sends a signed delivery. @returns the status of the response */
export async function deliver(url: string, event: WebhookEvent): Promise<number> {
  const body = toBody(event);
  const timestamp = Math.floor(Date.now() / 1000);
  const signature = signWebhookSync({ rawBody: body, secret, timestamp });
  const response = await fetch(url, { method: "POST", headers: { "service-signature": signature }, body });
  return response.status;
}
