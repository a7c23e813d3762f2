/**
 * Compares the types of openapi.yaml with those of a service's document: the compiler names what
 * differs. `npm run generate -- --from BASE_URL` stores the document; until then both are ours.
 */
import type { OperationId, operations } from "./generated/operations.ts";
import type * as Ours from "./generated/schema.ts";
import type * as Theirs from "./generated/service.ts";

declare const ours: { requests: Requests<Ours.paths> };
declare const theirs: { responses: Responses<Theirs.paths>; events: Events<Theirs.webhooks> };

/** The service accepts what the client sends. */
export const requests: Requests<Theirs.paths> = {
  issueCard: ours.requests.issueCard,
  getCard: ours.requests.getCard,
  listOperations: ours.requests.listOperations,
  getConsent: ours.requests.getConsent,
  setConsent: ours.requests.setConsent,
};

/** The client understands what the service responds. */
export const responses: Responses<Ours.paths> = {
  issueCard: theirs.responses.issueCard,
  getCard: theirs.responses.getCard,
  listOperations: theirs.responses.listOperations,
  getConsent: theirs.responses.getConsent,
  setConsent: theirs.responses.setConsent,
};

/** The receiver understands what the service sends. */
export const events: WithAnyType<Events<Ours.webhooks>> = {
  "card.added": theirs.events["card.added"],
  "card.removed": theirs.events["card.removed"],
  "balance.changed": theirs.events["balance.changed"],
  "tier.changed": theirs.events["tier.changed"],
  "consent.changed": theirs.events["consent.changed"],
  ping: theirs.events.ping,
};

type Requests<Paths> = {
  [Id in OperationId]: {
    query: Get<Parameters<Paths, Id>, "query", Nothing>;
    headers: WithLowerCaseNames<Get<Parameters<Paths, Id>, "header", Nothing>>;
    body: Body<Get<Operation<Paths, Id>, "requestBody", NoBody>>;
  };
};

type Responses<Paths> = {
  [Id in OperationId]: Body<Success<Get<Operation<Paths, Id>, "responses">, Status<Id>>>;
};

/** An event that the document does not describe is ours. */
type Events<Webhooks> = {
  [Type in keyof Ours.webhooks]: Body<
    Get<Get<Get<Webhooks, Type, Ours.webhooks[Type]>, "post">, "requestBody">
  >;
};

/** A document can describe the member `type` once, for all events. */
type WithAnyType<Events> = {
  [Type in keyof Events]: {
    [Name in keyof Events[Type]]: Name extends "type" ? string : Events[Type][Name];
  };
};

type Path<Id extends OperationId> = (typeof operations)[Id]["path"];
type Method<Id extends OperationId> = Lowercase<(typeof operations)[Id]["method"]>;
type Status<Id extends OperationId> = (typeof operations)[Id]["successStatus"];

/** The parameters of its path may have other names. */
type Operation<Paths, Id extends OperationId> = Get<
  Get<{ [Each in keyof Paths as Shape<Each>]: Paths[Each] }, Shape<Path<Id>>, Absent<Path<Id>>>,
  Method<Id>
>;

/** `/passes/{}` for `/passes/{id}` and `/api/v1/passes/{card}`. */
type Shape<Path> = Path extends `/api/v1${infer End}`
  ? Shape<End>
  : Path extends `${infer Start}{${string}}${infer End}`
    ? `${Start}{}${Shape<End>}`
    : Path;

type Parameters<Paths, Id extends OperationId> = Get<Operation<Paths, Id>, "parameters">;

/** OpenAPI ignores headers that a body, a response or a security scheme describes. */
type WithLowerCaseNames<Headers> = {
  [Name in keyof Headers as Exclude<
    Lowercase<Name & string>,
    "accept" | "content-type" | "authorization"
  >]: Headers[Name];
};

/** Some frameworks describe a success as `2XX` or `default`. */
type Success<Responses, Status> = Get<
  Responses,
  Status,
  Get<Responses, "2XX", Get<Responses, "default", Absent<Status>>>
>;

type Body<Message> = Get<
  Get<Message, "content">,
  "application/json",
  Get<Get<Message, "content">, "*/*", Absent<"application/json">>
>;

type NoBody = { content: { "application/json": "no body" } };
type Nothing = Record<never, never>;

/** A member of the document; what is absent has only absent members. */
type Get<Value, Name, Otherwise = Absent<Name>> =
  Value extends Absent<unknown>
    ? Value
    : Name extends keyof Value
      ? [NonNullable<Value[Name]>] extends [never]
        ? Otherwise
        : NonNullable<Value[Name]>
      : Otherwise;

interface Absent<Name> {
  "is not in the service's document": Name;
}
