/** Puts the service behind MSW, for tests of code that calls it. */
import { type HttpHandler, HttpResponse, http } from "msw";
import { fromFetch } from "../http/request.ts";
import { isSilent, noResponse, responseOf } from "../http/response.ts";
import { coreOf, type MockService } from "../service.ts";

/** For `server.listen(…)`: requests that nobody handles fail the test, in MSW 2 and under its new name in MSW 3. */
export const failOnUnhandled = { onUnhandledRequest: "error", onUnhandledFrame: "error" } as const;

/** Handlers for everything under the service's `baseUrl`; your own `server.use(…)` goes before them. */
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
