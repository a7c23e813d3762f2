/** Traces of cards and events: through the outbox to the service, and through the inbox to the handler. */
// #region tracing
import {
  createIssuingClient,
  type IssuingClientOptions,
} from "@loyalty-cards/issuing-client";
import { withOpenTelemetry } from "@loyalty-cards/issuing-client/otel";
import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import { outboxTracing } from "@loyalty-cards/issuing-outbox/otel";
import { sqliteInbox } from "@loyalty-cards/webhook-inbox";
import { inboxTracing } from "@loyalty-cards/webhook-inbox/otel";

export function openTraced(file: string, options: IssuingClientOptions) {
  const client = createIssuingClient(withOpenTelemetry(options));
  const outbox = sqliteOutbox({ client, file, tracing: outboxTracing() });
  const inbox = sqliteInbox({ file, tracing: inboxTracing() });
  return { outbox, inbox };
}
// #endregion
