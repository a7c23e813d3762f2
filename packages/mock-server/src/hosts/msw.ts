/** Puts the service behind MSW, for tests of code that calls it. */
import { type HttpHandler, HttpResponse, http } from "msw";
import { fromFetch } from "../http/request.ts";
import { isSilent, noResponse, responseOf } from "../http/response.ts";
import { coreOf, type MockService } from "../service.ts";

/** Handlers for everything under the service's `baseUrl`; your own `server.use(…)` goes before them. */
export function mockHandlers(service: MockService): HttpHandler[] {
  const { answer } = coreOf(service);
  return [
    http.all(`${service.baseUrl}/*`, async ({ request }) => {
      const answered = await answer(fromFetch(request));
      const { fault } = answered;
      if (!isSilent(fault)) return responseOf(answered);
      // What rejects here would be answered as a 500; this is MSW's word for a connection that broke.
      return fault === "hang" ? noResponse(fault, request.signal) : HttpResponse.error();
    }),
  ];
}
