/** A client for high throughput, with OpenTelemetry. */
// #region much
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { withOpenTelemetry } from "@loyalty-cards/issuing-client/otel";
import { undiciTransport } from "@loyalty-cards/issuing-client/undici";
import { Agent } from "undici";

export function openClient(baseUrl: string, apiKey: string) {
  const agent = new Agent({ connections: 32 }); // also configures proxies and TLS
  const transport = undiciTransport(agent);
  const loyalty = createIssuingClient(
    withOpenTelemetry({ baseUrl, apiKey, transport, idempotencyNamespace: "production" }),
  );
  return { loyalty, close: () => agent.close() };
}
// #endregion
