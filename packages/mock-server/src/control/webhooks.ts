/** Control routes for webhook endpoints and the delivery log. */
import { EndpointChange, EndpointInput } from "@loyalty-cards/openapi/control-validators";
import { type Delivery, type DeliveryFilter, findDeliveries } from "../delivery/deliveries.ts";
import {
  createEndpoint,
  deleteEndpoint,
  eventTypes,
  getEndpoint,
  replaceSecret,
  toWebhookEndpoint,
  updateEndpoint,
} from "../delivery/endpoints.ts";
import { NotFoundError } from "../domain/context.ts";
import { Problem } from "../domain/problem.ts";
import { jsonResponse } from "../http/response.ts";
import { type ControlRoute, created, noContent, ok, paginate, withBody } from "./route.ts";

const filters: Readonly<Record<keyof DeliveryFilter, readonly string[] | undefined>> = {
  endpointId: undefined,
  eventId: undefined,
  type: eventTypes,
  state: ["pending", "delivered", "failed"] satisfies Delivery["state"][],
};

export const webhookRoutes: ControlRoute[] = [
  {
    method: "GET",
    path: "/_mock/webhooks/endpoints",
    run: ({ sandbox }) => ok({ items: [...sandbox.domain.state.endpoints.values()].map(toWebhookEndpoint) }),
  },
  withBody({
    method: "POST",
    path: "/_mock/webhooks/endpoints",
    body: EndpointInput,
    run({ sandbox: { domain }, body }) {
      const { id, secret } = createEndpoint(domain, body);
      return created({ ...toWebhookEndpoint(getEndpoint(domain, id)), secret });
    },
  }),
  withBody({
    method: "PATCH",
    path: "/_mock/webhooks/endpoints/*",
    body: EndpointChange,
    run: ({ sandbox: { domain }, params: [id = ""], body }) => ok(updateEndpoint(domain, id, body)),
  }),
  {
    method: "DELETE",
    path: "/_mock/webhooks/endpoints/*",
    run({ sandbox: { domain }, params: [id = ""] }) {
      deleteEndpoint(domain, id);
      return noContent;
    },
  },
  {
    method: "GET",
    path: "/_mock/webhooks/endpoints/*/secret",
    run({ sandbox: { domain }, params: [endpointId = ""] }) {
      const { id, secret } = getEndpoint(domain, endpointId);
      return ok({ id, secret });
    },
  },
  {
    method: "POST",
    path: "/_mock/webhooks/endpoints/*/new-secret",
    run: ({ sandbox, params: [id = ""] }) => ok(replaceSecret(sandbox.domain, id)),
  },
  {
    method: "POST",
    path: "/_mock/webhooks/endpoints/*/test",
    run: ({ sandbox, params: [id = ""] }) => jsonResponse(202, sandbox.sendTest(id)),
  },
  {
    method: "GET",
    path: "/_mock/webhooks/deliveries",
    run({ sandbox, query }) {
      const filter = parseFilter(query);
      if (filter instanceof Problem) return filter;
      return paginate(findDeliveries(sandbox.domain, filter).reverse(), query, (delivery) => delivery);
    },
  },
  {
    method: "GET",
    path: "/_mock/webhooks/deliveries/*",
    run({ sandbox, params: [id = ""] }) {
      const delivery = sandbox.domain.state.deliveries.get(id);
      if (delivery === undefined) throw new NotFoundError(`There is no delivery "${id}".`);
      return ok(delivery);
    },
  },
  {
    method: "POST",
    path: "/_mock/webhooks/deliveries/*/resend",
    run: ({ sandbox, params: [id = ""] }) => jsonResponse(202, sandbox.resend(id)),
  },
];

function parseFilter(query: URLSearchParams): DeliveryFilter | Problem {
  const filter: Record<string, string> = {};
  for (const [name, values] of Object.entries(filters)) {
    const value = query.get(name);
    if (value === null || value === "") continue;
    if (values !== undefined && !values.includes(value)) {
      return new Problem(400, `${name} must be one of ${values.join(", ")}.`);
    }
    filter[name] = value;
  }
  return filter;
}
