/** MSW adapter: request handlers that respond as the service does. */
import * as msw from "msw"; // as a whole, because MSW 1 has other exports
import type { MockService } from "../service.ts";

/**
 * Returns MSW handlers for everything under the service's `baseUrl`; the handlers of your own
 * `server.use(…)` come before them. Two services of one `setupServer` need two addresses: set the
 * `baseUrl` of each.
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
  if (typeof service?.fetch !== "function")
    throw new TypeError("mockHandlers takes a service: mockHandlers(createMockService()).");
  const { baseUrl, fetch } = service;
  if (typeof msw.http?.all !== "function")
    throw new TypeError("mockHandlers needs MSW 2 or 3. This one is older.");
  // A path of MSW would read the characters of IPv6 and of parentheses as a pattern.
  const start = new RegExp(`^${baseUrl.replace(/\W/g, "\\$&")}/`);
  return [
    // Where the service breaks the connection, the program gets a network error: MSW would respond
    // 500 to a rejection.
    msw.http.all(start, ({ request }) => fetch(request).catch(() => msw.HttpResponse.error())),
  ];
}
