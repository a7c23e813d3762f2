/** Mutations of customers, of the consent at sign-up, and of the validation of a sign-up. */
import {
  allOperations,
  changeCards,
  changeResponses,
  changeResponsesWithStatus,
  findCustomer,
  getKey,
  getPhone,
  inProgress,
  rejectIssuing,
  withMembers,
} from "./hooks.ts";
import { expectEnd, type Hooks, type Members, type Mutation, mutation, signUps, stored } from "./mutation.ts";

const changeCustomers = (change: (customer: Members) => Members): Hooks => ({
  api(request, next) {
    const { customer } = (request.body ?? {}) as { customer?: Members };
    if (request.operation !== "issueCard" || customer === undefined) return next(request);
    return next({ ...request, body: withMembers(request.body, { customer: change(customer) }) });
  },
});

export const customerMutations: readonly Mutation[] = [
  mutation(
    "customer-members",
    "a birthday is required",
    rejectIssuing(({ body }) => getPhone(body) !== "12", 422),
    {
      ends: {
        ...expectEnd("validation", ...signUps),
        archivedTemplate: "validation",
        wrongKey: "validation",
      },
    },
  ),
  mutation(
    "customer-members",
    "names are not kept",
    changeCustomers((customer) => ({ ...customer, name: undefined })),
  ),
  changeCards("customer-members", "a card holds its customer", (card) => ({
    customer: { id: card["customerId"], phone: null, tags: [] },
  })),

  mutation(
    "phone-format",
    "only E.164",
    rejectIssuing(({ body }) => /^\d+ /.test(getPhone(body) ?? ""), 422),
    {
      ends: expectEnd("validation", "signUpCorrected", "signUpWithKeySuffix"),
    },
  ),
  mutation(
    "phone-format",
    "any text is a phone number",
    changeCustomers((customer) =>
      customer["phone"] === "12" ? { ...customer, phone: "+48600000012" } : customer,
    ),
    { ends: { signUpInvalid: "value" } },
  ),
  mutation(
    "phone-format",
    "400 for a malformed number",
    changeResponsesWithStatus(422, () => ({ status: 400 })),
    {
      ends: { signUpInvalid: "rejected" },
    },
  ),

  changeCards("customer-match", "a customer for each card", (card) => ({
    customerId: `cus_of_${card["id"]}`,
  })),
  mutation(
    "customer-match",
    "e-mail addresses are compared letter by letter",
    changeCustomers((customer) =>
      typeof customer["email"] === "string" ? { ...customer, email: `x-${customer["email"]}` } : customer,
    ),
  ),
  mutation(
    "customer-match",
    "409 for a customer who is known",
    ({ service }) => ({
      async api(request, next) {
        const hasKey = stored(service).cardIdByKey.has(getKey(request));
        const isKnown = findCustomer(service, request.body) !== undefined;
        return request.operation === "issueCard" && isKnown && !hasKey
          ? inProgress(409)
          : await next(request);
      },
    }),
    { ends: { signUpUnderAnotherKey: "conflict" } },
  ),

  mutation(
    "customer-blanks",
    "the newest sign-up overwrites the customer",
    changeResponses(["getConsent"], ({ body }) => ({
      body: withMembers(body, { customer: { id: "cus_1", name: "Overwritten", phone: "+48600000000" } }),
    })),
  ),
  mutation(
    "customer-blanks",
    "a blank e-mail stays blank",
    changeCustomers((customer) =>
      customer["phone"] === undefined ? customer : { ...customer, email: undefined },
    ),
  ),

  mutation("marketing-at-issue", "no event for consent given at sign-up", {
    event: (event) =>
      event.type === "consent.changed" && Number(((event.data["passIds"] as unknown[]) ?? []).length) === 0
        ? []
        : [event],
  }),
  mutation("marketing-at-issue", "an event for each sign-up, also without a change", {
    event: (event) =>
      event.type === "consent.changed"
        ? [{ ...event, id: `${event.id}_before`, data: { ...event.data } }, event]
        : [event],
  }),
  mutation(
    "marketing-at-issue",
    "consent at sign-up has to be confirmed",
    changeCustomers((customer) => ({
      ...customer,
      consents: { privacy: (customer["consents"] as Members)["privacy"] },
    })),
  ),

  mutation(
    "validation-order",
    "the fields are checked before the template",
    {
      async api(request, next) {
        const response = await next(request);
        return response.status === 404 && request.operation === "issueCard" ? inProgress(422) : response;
      },
    },
    { ends: { archivedTemplate: "validation" } },
  ),
  mutation(
    "validation-order",
    "the template is looked for before the API key",
    changeResponsesWithStatus(401, () => inProgress(404)),
    { ends: { wrongKey: "not-found" } },
  ),
  mutation("validation-order", "fields are checked before an idempotency key is looked for", {
    async api(request, next) {
      return getPhone(request.body) === "12" ? inProgress(422) : await next(request);
    },
  }),

  ...[
    ["null members are 422", null],
    ["empty members are 422", ""],
  ].map(([name, value]) =>
    mutation(
      "blank-members",
      String(name),
      rejectIssuing(
        ({ body }) =>
          Object.values((body as { customer: Members }).customer).some((member) => member === value),
        422,
      ),
    ),
  ),
  mutation(
    "blank-members",
    "blank members are 400",
    rejectIssuing(({ body }) => JSON.stringify(body).includes('" "'), 400),
  ),

  ...([410, 403, 409, 422] as const).map((status) =>
    mutation(
      "archived-templates",
      `${status} for an archived template`,
      {
        async api(request, next) {
          return request.path.includes("tpl_archived") ? inProgress(status) : await next(request);
        },
      },
      {
        ends: {
          archivedTemplate: { 410: "rejected", 403: "forbidden", 409: "conflict", 422: "validation" }[status],
        },
      },
    ),
  ),
  mutation(
    "archived-templates",
    "cards are issued all the same",
    {
      api: (request, next) => next({ ...request, path: request.path.replace("tpl_archived", "tpl_club") }),
    },
    { ends: { archivedTemplate: "value" } },
  ),
  mutation(
    "archived-templates",
    "an error page for an archived template",
    changeResponses(
      allOperations,
      () => ({
        headers: { "content-type": "text/html" },
        text: "<!doctype html><title>Not found</title>",
      }),
      ({ status }) => status === 404,
    ),
  ),
];
