/** Routes for webhook endpoints and the delivery log. */
import { type Delivery, type DeliveryFilter, matching } from "../delivery/deliveries.ts";
import {
  createEndpoint,
  deleteEndpoint,
  type EndpointInput,
  eventTypes,
  existingEndpoint,
  renewSecret,
  updateEndpoint,
  webhookEndpoint,
} from "../delivery/endpoints.ts";
import { NotFoundError } from "../domain/not-found.ts";
import { Problem } from "../domain/problem.ts";
import { listOf, object, oneOf, text } from "../domain/shape.ts";
import { pageOf } from "./page.ts";
import { type ControlRoute, created, done, ok } from "./route.ts";

const filters: Readonly<Record<keyof DeliveryFilter, readonly string[] | undefined>> = {
  endpointId: undefined,
  eventId: undefined,
  type: eventTypes,
  state: ["pending", "delivered", "failed"] satisfies Delivery["state"][],
};

const endpointMembers = { url: text, events: listOf(oneOf(eventTypes), 1) };

export const webhookRoutes: ControlRoute[] = [
  {
    method: "GET",
    path: "/_mock/webhooks/endpoints",
    run: ({ world }) => ok({ items: [...world.domain.state.endpoints.values()].map(webhookEndpoint) }),
  },
  {
    method: "POST",
    path: "/_mock/webhooks/endpoints",
    takes: object(endpointMembers, ["url", "events"]),
    run({ world: { domain }, body }) {
      const { id, secret } = createEndpoint(domain, body as EndpointInput);
      return created({ ...webhookEndpoint(existingEndpoint(domain, id)), secret });
    },
  },
  {
    method: "PATCH",
    path: "/_mock/webhooks/endpoints/*",
    takes: object(endpointMembers),
    run: ({ world: { domain }, params: [id = ""], body }) =>
      ok(updateEndpoint(domain, id, body as Partial<EndpointInput>)),
  },
  {
    method: "DELETE",
    path: "/_mock/webhooks/endpoints/*",
    run({ world: { domain }, params: [id = ""] }) {
      deleteEndpoint(domain, id);
      return done;
    },
  },
  {
    method: "GET",
    path: "/_mock/webhooks/endpoints/*/secret",
    run({ world: { domain }, params: [endpointId = ""] }) {
      const { id, secret } = existingEndpoint(domain, endpointId);
      return ok({ id, secret });
    },
  },
  {
    method: "POST",
    path: "/_mock/webhooks/endpoints/*/new-secret",
    run: ({ world, params: [id = ""] }) => ok(renewSecret(world.domain, id)),
  },
  {
    method: "POST",
    path: "/_mock/webhooks/endpoints/*/test",
    run: ({ world, params: [id = ""] }) => ({ status: 202, body: structuredClone(world.sendTest(id)) }),
  },
  {
    method: "GET",
    path: "/_mock/webhooks/deliveries",
    run({ world, query }) {
      const filter = filterOf(query);
      if (filter instanceof Problem) return filter;
      return pageOf(matching(world.domain, filter).reverse(), query, (delivery) => delivery);
    },
  },
  {
    method: "GET",
    path: "/_mock/webhooks/deliveries/*",
    run({ world, params: [id = ""] }) {
      const delivery = world.domain.state.deliveries.get(id);
      if (delivery === undefined) throw new NotFoundError(`There is no delivery "${id}".`);
      return ok(delivery);
    },
  },
  {
    method: "POST",
    path: "/_mock/webhooks/deliveries/*/resend",
    run: ({ world, params: [id = ""] }) => ({ status: 202, body: structuredClone(world.resend(id)) }),
  },
];

function filterOf(query: URLSearchParams): DeliveryFilter | Problem {
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
