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
import { jsonResponse } from "../http/messages.ts";
import { created, ok, paginate, route } from "./route.ts";

const filters: Readonly<Record<keyof DeliveryFilter, readonly string[] | undefined>> = {
  endpointId: undefined,
  eventId: undefined,
  type: eventTypes,
  state: ["pending", "delivered", "failed"] satisfies Delivery["state"][],
};

export const webhookRoutes = [
  route("GET /_mock/webhooks/endpoints", ({ domain }) =>
    ok({ items: [...domain.state.endpoints.values()].map(toWebhookEndpoint) }),
  ),
  route(
    "POST /_mock/webhooks/endpoints",
    ({ domain, body }) => {
      const { id, secret } = createEndpoint(domain, body);
      return created({ ...toWebhookEndpoint(getEndpoint(domain, id)), secret });
    },
    EndpointInput,
  ),
  route(
    "PATCH /_mock/webhooks/endpoints/*",
    ({ domain, id, body }) => ok(updateEndpoint(domain, id, body)),
    EndpointChange,
  ),
  route("DELETE /_mock/webhooks/endpoints/*", ({ domain, id }) => deleteEndpoint(domain, id)),
  route("GET /_mock/webhooks/endpoints/*/secret", ({ domain, id }) => {
    const { secret } = getEndpoint(domain, id);
    return ok({ id, secret });
  }),
  route("POST /_mock/webhooks/endpoints/*/new-secret", ({ domain, id }) => ok(replaceSecret(domain, id))),
  route("POST /_mock/webhooks/endpoints/*/test", ({ backend, id }) =>
    jsonResponse(202, backend.sendTest(id)),
  ),

  route("GET /_mock/webhooks/deliveries", ({ domain, query }) => {
    const filter = parseFilter(query);
    if (filter instanceof Problem) return filter;
    const words = (query.get("query") ?? "").trim().toLowerCase();
    const found = findDeliveries(domain, filter).filter((delivery) => matchesDelivery(delivery, words));
    return paginate(found.reverse(), query, (delivery) => delivery);
  }),
  route("GET /_mock/webhooks/deliveries/*", ({ domain, id }) => {
    const delivery = domain.state.deliveries.get(id);
    if (delivery === undefined) throw new NotFoundError(`There is no delivery "${id}".`);
    return ok(delivery);
  }),
  route("POST /_mock/webhooks/deliveries/*/resend", ({ backend, id }) =>
    jsonResponse(202, backend.resend(id)),
  ),
];

/** The body has the ids of the event, the card, the customer and the operation. */
const matchesDelivery = ({ id, body }: Delivery, words: string) =>
  words === "" || id.toLowerCase().includes(words) || body.toLowerCase().includes(words);

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
