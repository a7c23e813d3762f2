/** Control routes for a sandbox as a whole: create, reset, snapshot, wait, and changes as server-sent events. */
import { WaitInput } from "@loyalty-cards/openapi/control-validators";
import { operations } from "@loyalty-cards/openapi/operations";
import { eventTypes } from "../delivery/endpoints.ts";
import { type Change, NotFoundError } from "../domain/context.ts";
import { generateRandomId } from "../domain/identifiers.ts";
import { Problem } from "../domain/problem.ts";
import type { Settings } from "../sandbox/options.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { Sandboxes } from "../sandbox/sandboxes.ts";
import type { State } from "../sandbox/state.ts";
import { type WaitCondition, WaitTimeoutError, waitForCondition } from "../sandbox/wait-for.ts";
import { type ControlRoute, created, ok, route } from "./route.ts";

export function sandboxRoutes(sandboxes: Sandboxes, { templates }: Settings): ControlRoute[] {
  const view = (sandbox: Sandbox) =>
    toSandboxView(sandbox, sandbox === sandboxes.first, templates[0]?.id ?? "");
  return [
    route("POST /_mock/reset", ({ sandbox }) => sandbox.reset()),
    route("GET /_mock/sandboxes", () => ok({ items: sandboxes.list().map(view) })),
    route("POST /_mock/sandboxes", () => created(view(sandboxes.create()))),
    route("GET /_mock/sandboxes/*", ({ id }) => ok(view(sandboxes.get(id)))),
    route("DELETE /_mock/sandboxes/*", ({ id }) => sandboxes.remove(id)),
    route("GET /_mock/settings", ({ domain: { wallets, defaultCountry } }) =>
      ok({ wallets, events: eventTypes, operations, defaultCountry }),
    ),
    route(
      "POST /_mock/wait",
      async ({ sandbox, body: { timeoutMs, ...condition }, request: { signal } }) => {
        const options = { signal, ...(timeoutMs !== undefined && { timeoutMs }) };
        try {
          return ok({ items: await waitForCondition(sandbox, condition as WaitCondition, options) });
        } catch (error) {
          if (error instanceof WaitTimeoutError || signal.aborted) return new Problem(408, String(error));
          throw error;
        }
      },
      WaitInput,
    ),
    ...snapshotRoutes(),
    route("GET /_mock/events", ({ sandbox }) => ({
      status: 200,
      body: streamChanges(sandbox),
      headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
    })),
  ];
}

const maxSnapshots = 20;

function snapshotRoutes(): ControlRoute[] {
  const bySandbox = new WeakMap<Sandbox, Map<string, State>>();
  const getSnapshots = (sandbox: Sandbox) => bySandbox.get(sandbox) ?? new Map<string, State>();
  return [
    route("POST /_mock/snapshots", ({ sandbox }) => {
      const id = generateRandomId("snp");
      const snapshots = getSnapshots(sandbox).set(id, sandbox.snapshot());
      const [oldest] = snapshots.keys();
      if (snapshots.size > maxSnapshots && oldest !== undefined) snapshots.delete(oldest);
      bySandbox.set(sandbox, snapshots);
      return created({ id });
    }),
    route("POST /_mock/snapshots/*/restore", ({ sandbox, id }) => {
      const state = getSnapshots(sandbox).get(id);
      if (state === undefined)
        throw new NotFoundError(`There is no snapshot "${id}"; the newest ${maxSnapshots} are kept.`);
      sandbox.restore(state);
    }),
  ];
}

/** The number of messages that are queued for a slow reader. */
const maxQueuedMessages = 1_000;

function streamChanges(sandbox: Sandbox): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let stop = () => {};
  let hasLeftOut = false;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(encoder.encode('event: hello\ndata: {"type":"hello"}\n\n'));
        stop = sandbox.changes.subscribe((change) => {
          if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(formatMessage(change)));
          else hasLeftOut = true;
        });
      },
      pull(controller) {
        if (!hasLeftOut) return;
        hasLeftOut = false;
        controller.enqueue(encoder.encode(formatMessage({ type: "reset" })));
      },
      cancel: () => stop(),
    },
    { highWaterMark: maxQueuedMessages },
  );
}

const formatMessage = (change: Change) => `event: ${change.type}\ndata: ${JSON.stringify(change)}\n\n`;

function toSandboxView({ id, apiKeys, domain: { baseUrl } }: Sandbox, isFirst: boolean, templateId: string) {
  const address = `${baseUrl}/console`;
  return { id, baseUrl, apiKeys, templateId, console: isFirst ? address : `${address}?sandbox=${id}` };
}
