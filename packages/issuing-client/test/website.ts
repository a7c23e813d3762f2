/** A website for the tests: a client in front of the mock service, behind MSW. */
import { createMockService, manualClock } from "@loyalty-cards/mock-server";
import { mockHandlers } from "@loyalty-cards/mock-server/msw";
import { setupServer } from "msw/node";
import { onTestFinished } from "vitest";
import { createIssuingClient, type IssuingClientOptions } from "../src/index.ts";
import { template } from "./scripted.ts";

/** The mock service, reached by the global fetch. */
export function openWebsite(options: Partial<IssuingClientOptions> = {}) {
  const service = createMockService({ templates: [template], clock: manualClock() });
  const server = setupServer(...mockHandlers(service));
  server.listen({ onUnhandledRequest: "error" });
  onTestFinished(() => server.close());
  const client = createIssuingClient({
    baseUrl: service.baseUrl,
    apiKey: service.apiKeys.website,
    ...options,
  });
  return { service, server, client };
}
