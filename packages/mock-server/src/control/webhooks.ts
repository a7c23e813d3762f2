/** Control routes for webhook endpoints and deliveries, and the list of the traffic. */
import { isEndpointChange, isEndpointInput } from "@loyalty-cards/openapi/control-validators";
import type { Backend } from "../backend/backend.ts";
import {
  createEndpoint,
  deleteEndpoint,
  replaceSecret,
  updateEndpoint,
} from "../delivery/endpoints.ts";
import { getById } from "../domain/context.ts";
import type { Router } from "./route.ts";
import { listTraffic } from "./traffic.ts";

export function addWebhookRoutes(router: Router, backend: Backend): void {
  const { route, routeWithBody, routeQuery } = router;
  const { domain, dispatcher } = backend;
  route("GET /webhooks/endpoints", () => ({ items: [...domain.state.endpoints.values()] }));
  routeWithBody("POST /webhooks/endpoints 201", isEndpointInput, ({ body }) =>
    createEndpoint(domain, body),
  );
  routeWithBody("PATCH /webhooks/endpoints/:id", isEndpointChange, ({ id, body }) =>
    updateEndpoint(domain, id, body),
  );
  route("DELETE /webhooks/endpoints/:id", ({ id }) => deleteEndpoint(domain, id));
  route("POST /webhooks/endpoints/:id/new-secret", ({ id }) => replaceSecret(domain, id));
  route("POST /webhooks/endpoints/:id/test 202", ({ id }) => dispatcher.sendTest(id));

  route("GET /webhooks/deliveries/:id", ({ id }) =>
    getById(domain.state.deliveries, id, "delivery"),
  );
  route("POST /webhooks/deliveries/:id/resend 202", ({ id }) => dispatcher.resend(id));

  routeQuery("GET /traffic", (query) => listTraffic(backend, query));
}
