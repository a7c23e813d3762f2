/** Control routes for a sandbox as a whole: create, reset, snapshot, wait, and changes as server-sent events. */
import { WaitInput } from "@loyalty-cards/openapi/control-validators";
import { eventTypes } from "../delivery/endpoints.ts";
import { type Change, NotFoundError } from "../domain/context.ts";
import { generateRandomId } from "../domain/identifiers.ts";
import { Problem } from "../domain/problem.ts";
import type { Settings } from "../sandbox/options.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { Sandboxes } from "../sandbox/sandboxes.ts";
import type { State } from "../sandbox/state.ts";
import { type WaitCondition, WaitTimeoutError, waitForCondition } from "../sandbox/wait-for.ts";
import { type ControlRoute, created, noContent, ok, withBody } from "./route.ts";

export function sandboxRoutes(sandboxes: Sandboxes, { templates }: Settings): ControlRoute[] {
  const view = (sandbox: Sandbox) =>
    toSandboxView(sandbox, sandbox === sandboxes.first, templates[0]?.id ?? "");
  return [
    {
      method: "POST",
      path: "/_mock/reset",
      run({ sandbox }) {
        sandbox.reset();
        return noContent;
      },
    },
    { method: "GET", path: "/_mock/sandboxes", run: () => ok({ items: sandboxes.list().map(view) }) },
    { method: "POST", path: "/_mock/sandboxes", run: () => created(view(sandboxes.create())) },
    {
      method: "GET",
      path: "/_mock/sandboxes/*",
      run: ({ params: [id = ""] }) => ok(view(sandboxes.get(id))),
    },
    {
      method: "DELETE",
      path: "/_mock/sandboxes/*",
      run({ params: [id = ""] }) {
        sandboxes.remove(id);
        return noContent;
      },
    },
    {
      method: "GET",
      path: "/_mock/settings",
      run({ sandbox: { domain } }) {
        return ok({ wallets: domain.wallets, events: eventTypes, defaultCountry: domain.defaultCountry });
      },
    },
  ];
}

const maxSnapshots = 20;

export function snapshotRoutes(): ControlRoute[] {
  const bySandbox = new WeakMap<Sandbox, Map<string, State>>();
  const getSnapshots = (sandbox: Sandbox) => bySandbox.get(sandbox) ?? new Map<string, State>();
  return [
    {
      method: "POST",
      path: "/_mock/snapshots",
      run({ sandbox }) {
        const id = generateRandomId("snp");
        const snapshots = getSnapshots(sandbox).set(id, sandbox.snapshot());
        const [oldest] = snapshots.keys();
        if (snapshots.size > maxSnapshots && oldest !== undefined) snapshots.delete(oldest);
        bySandbox.set(sandbox, snapshots);
        return created({ id });
      },
    },
    {
      method: "POST",
      path: "/_mock/snapshots/*/restore",
      run({ sandbox, params: [id = ""] }) {
        const state = getSnapshots(sandbox).get(id);
        if (state === undefined)
          throw new NotFoundError(`There is no snapshot "${id}"; the newest 20 are kept.`);
        sandbox.restore(state);
        return noContent;
      },
    },
  ];
}

export const waitRoutes: ControlRoute[] = [
  withBody({
    method: "POST",
    path: "/_mock/wait",
    body: WaitInput,
    async run({ sandbox, body, request: { signal } }) {
      const { timeoutMs, ...condition } = body;
      const options = { signal, ...(timeoutMs !== undefined && { timeoutMs }) };
      try {
        return ok({ items: await waitForCondition(sandbox, condition as WaitCondition, options) });
      } catch (error) {
        if (error instanceof WaitTimeoutError || signal.aborted) return new Problem(408, String(error));
        throw error;
      }
    },
  }),
];

/** The number of messages that are queued for a slow reader. */
const maxQueuedMessages = 1_000;

export const eventRoutes: ControlRoute[] = [
  {
    method: "GET",
    path: "/_mock/events",
    run: ({ sandbox }) => ({
      status: 200,
      body: streamChanges(sandbox),
      headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
    }),
  },
];

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
