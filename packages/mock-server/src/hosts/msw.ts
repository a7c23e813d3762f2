/** Puts the service behind MSW, for tests of code that calls it. */
import { type HttpHandler, http } from "msw";
import type { MockService } from "../service.ts";

/** Handlers for everything under the service's `baseUrl`; your own `server.use(…)` goes before them. */
export function mockHandlers(service: MockService): HttpHandler[] {
  return [http.all(`${service.baseUrl}/*`, ({ request }) => service.fetch(request))];
}
