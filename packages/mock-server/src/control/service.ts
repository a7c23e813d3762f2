/** Control routes for the service as a whole: settings, reset, snapshots, waiting, and changes as server-sent events. */
import { WaitInput } from "@loyalty-cards/openapi/control-validators";
import { operations } from "@loyalty-cards/openapi/operations";
import type { State } from "../backend/state.ts";
import { eventTypes } from "../delivery/endpoints.ts";
import { seededApiKeys } from "../domain/api-keys.ts";
import { type Change, type ChangeNotifier, NotFoundError } from "../domain/context.ts";
import { generateRandomId } from "../domain/identifiers.ts";
import { Problem } from "../domain/problem.ts";
import { type ControlRoute, created, ok, route } from "./route.ts";
import { type WaitCondition, WaitTimeoutError, waitFor } from "./wait-for.ts";

const maxSnapshots = 20;

export function serviceRoutes(): ControlRoute[] {
  const snapshots = new Map<string, State>();
  return [
    route("GET /_mock/health", () => ok({ status: "ok" })),
    route("GET /_mock/settings", ({ backend: { settings } }) => {
      const { baseUrl, wallets, defaultCountry, templates } = settings;
      const connection = { baseUrl, apiKeys: seededApiKeys, templateId: templates[0]?.id };
      return ok({ ...connection, wallets, events: eventTypes, operations, defaultCountry });
    }),
    route("POST /_mock/reset", ({ backend }) => backend.reset()),
    route("POST /_mock/snapshots", ({ backend }) => {
      const id = generateRandomId("snp");
      snapshots.set(id, backend.snapshot());
      const [oldest] = snapshots.keys();
      if (snapshots.size > maxSnapshots && oldest !== undefined) snapshots.delete(oldest);
      return created({ id });
    }),
    route("POST /_mock/snapshots/*/restore", ({ backend, id }) => {
      const state = snapshots.get(id);
      if (state === undefined)
        throw new NotFoundError(`There is no snapshot "${id}"; the newest ${maxSnapshots} are kept.`);
      backend.restore(state);
    }),
    route(
      "POST /_mock/wait",
      async ({ backend, body: { timeoutMs, ...condition }, request: { signal } }) => {
        const options = { signal, ...(timeoutMs !== undefined && { timeoutMs }) };
        try {
          return ok({ items: await waitFor(backend, condition as WaitCondition, options) });
        } catch (error) {
          if (error instanceof WaitTimeoutError || signal.aborted) return new Problem(408, String(error));
          throw error;
        }
      },
      WaitInput,
    ),
    route("GET /_mock/events", ({ backend }) => ({
      status: 200,
      body: streamChanges(backend.changes),
      headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
    })),
  ];
}

/** The number of messages that are queued for a slow reader. */
const maxQueuedMessages = 1_000;

function streamChanges(changes: ChangeNotifier): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let stop = () => {};
  let hasLeftOut = false;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(encoder.encode('event: hello\ndata: {"type":"hello"}\n\n'));
        stop = changes.subscribe((change) => {
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
