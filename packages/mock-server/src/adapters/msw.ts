/** MSW adapter: request handlers that respond as the service does. */
import * as msw from "msw"; // as a whole, because MSW 1 has other exports
import { fromFetch, hasNoResponse, rejectLikeFetch, toFetchResponse } from "../http/messages.ts";
import { getCore, type MockService } from "../service.ts";

/**
 * Returns MSW handlers for everything under the service's `baseUrl`; the handlers of your own `server.use(…)` come before them.
 * @param service a service of `createMockService`.
 * @throws {TypeError} with MSW 1.
 * @example
 * ```ts
 * import { createMockService } from "@loyalty-cards/mock-server";
 * import { mockHandlers } from "@loyalty-cards/mock-server/msw";
 * import { setupServer } from "msw/node";
 * import { afterAll, beforeAll, beforeEach } from "vitest";
 *
 * const service = createMockService();
 * const server = setupServer(...mockHandlers(service));
 * beforeAll(() => server.listen({ onUnhandledRequest: "error" }));
 * beforeEach(() => service.reset());
 * afterAll(() => server.close());
 * ```
 */
export function mockHandlers(service: MockService): msw.HttpHandler[] {
  if (typeof msw.http?.all !== "function")
    throw new TypeError("mockHandlers needs MSW 2 or 3. This one is older.");
  const { handle } = getCore(service);
  return [
    msw.http.all(`${service.baseUrl}/*`, async ({ request }) => {
      const response = await handle(fromFetch(request));
      const { connectionFault } = response;
      if (!hasNoResponse(connectionFault)) return toFetchResponse(response);
      if (connectionFault === "hang") await rejectLikeFetch(connectionFault, request).catch(() => {});
      return msw.HttpResponse.error(); // a network error; MSW would respond 500 to a rejection
    }),
  ];
}
