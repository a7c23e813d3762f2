/** Puts the service behind MSW, for tests of code that calls it. */
import { type HttpHandler, HttpResponse, http } from "msw";
import { fromFetch } from "../http/request.ts";
import { isSilent, noResponse, responseOf } from "../http/response.ts";
import { coreOf, type MockService } from "../service.ts";

/** For `server.listen(…)`: requests that nobody handles fail the test, in MSW 2 and under its new name in MSW 3. */
export const failOnUnhandled = { onUnhandledRequest: "error", onUnhandledFrame: "error" } as const;

/**
 * Returns MSW handlers for everything under the service's `baseUrl`; the handlers of your own `server.use(…)` come before them.
 * @param service a service of `createMockService`.
 * @example
 * ```ts
 * import { createMockService } from "@loyalty-cards/mock-server";
 * import { failOnUnhandled, mockHandlers } from "@loyalty-cards/mock-server/msw";
 * import { setupServer } from "msw/node";
 * import { afterAll, beforeAll, beforeEach } from "vitest";
 *
 * const service = createMockService();
 * const server = setupServer(...mockHandlers(service));
 * beforeAll(() => server.listen(failOnUnhandled));
 * beforeEach(() => service.reset());
 * afterAll(() => server.close());
 * ```
 */
export function mockHandlers(service: MockService): HttpHandler[] {
  const { answer } = coreOf(service);
  return [
    http.all(`${service.baseUrl}/*`, async ({ request }) => {
      const answered = await answer(fromFetch(request));
      const { fault } = answered;
      if (!isSilent(fault)) return responseOf(answered);
      // MSW's word for a connection that broke; to reject would be answered with a 500.
      if (fault === "hang") await noResponse(fault, request).catch(() => {});
      return HttpResponse.error();
    }),
  ];
}
