/**
 * The public types: narrowing, exhaustiveness, and each adapter with the types of its framework.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { webhooks } from "@loyalty-cards/openapi";
import type {
  ALBEvent,
  ALBHandler,
  APIGatewayProxyEvent,
  APIGatewayProxyHandler,
  APIGatewayProxyHandlerV2,
} from "aws-lambda";
import type { RequestHandler } from "express";
import type { FastifyPluginAsync } from "fastify";
import { expectTypeOf, test } from "vitest";
import { expressReceiver } from "../src/adapters/express.ts";
import { type FastifyReceiverOptions, fastifyReceiver } from "../src/adapters/fastify.ts";
import { fetchReceiver } from "../src/adapters/fetch.ts";
import { lambdaReceiver } from "../src/adapters/lambda.ts";
import { nextPagesHandler, nextRoute } from "../src/adapters/next.ts";
import { nodeReceiver } from "../src/adapters/node.ts";
import type { KnownEvents } from "../src/event.ts";
import {
  type BalanceChanged,
  isKnownEvent,
  isWebhookVerificationError,
  type KnownEvent,
  onEvents,
  type UnknownEvent,
  type VerificationErrorReason,
  verifyWebhook,
  type WebhookEvent,
} from "../src/index.ts";

declare const event: WebhookEvent;
const nothing = () => {};
declare const nothingForEach: Record<keyof KnownEvents, typeof nothing>;

test("after isKnownEvent, comparing `type` narrows to exactly that event", () => {
  if (!isKnownEvent(event)) return;
  if (event.type === "balance.changed") {
    expectTypeOf(event).toEqualTypeOf<BalanceChanged>();
    expectTypeOf(event.data.balance).toEqualTypeOf<number>();
    expectTypeOf(event.data.operation?.id).toEqualTypeOf<unknown>();
  }
  if (event.type === "consent.changed") expectTypeOf(event.data.passIds).toEqualTypeOf<string[]>();
});

test("without isKnownEvent, `type` is any string and `data` is unknown", () => {
  expectTypeOf<UnknownEvent["type"]>().toEqualTypeOf<string>();
  expectTypeOf(event.type).toEqualTypeOf<string>();
  if (event.type === "balance.changed") expectTypeOf(event.data).toEqualTypeOf<unknown>();
  if (event.type === "card.renamed") expectTypeOf(event).toEqualTypeOf<UnknownEvent>();
  if (!isKnownEvent(event)) expectTypeOf(event).toEqualTypeOf<UnknownEvent>();
});

test("a switch over the known types leaves the other ones", () => {
  if (!isKnownEvent(event)) return;
  switch (event.type) {
    case "card.added":
    case "balance.changed":
      expectTypeOf(event.data.passId).toEqualTypeOf<string>();
      break;
    default:
      expectTypeOf(event).toEqualTypeOf<
        Exclude<KnownEvent, { type: "card.added" | "balance.changed" }>
      >();
  }
});

type Contract = {
  [Type in keyof webhooks]: webhooks[Type]["post"]["requestBody"]["content"]["application/json"];
};

/**
 * What the document requires is checked and has its type; the rest may be anything or absent, and
 * can be read with `?.`.
 */
type Checked<Data> = {
  [Name in keyof Data]: object extends Pick<Data, Name>
    ? NonNullable<Data[Name]> extends string | number
      ? unknown
      : unknown extends Data[Name]
        ? unknown
        : { [Member in keyof NonNullable<Data[Name]>]?: unknown } | null | undefined
    : Data[Name];
};
type CheckedContract = {
  [Type in keyof Contract]: {
    [Name in keyof Contract[Type]]: Name extends "data"
      ? Checked<Contract[Type][Name]>
      : Contract[Type][Name];
  };
};

test("the events have the members of the OpenAPI document, and the types of those that it requires", () => {
  expectTypeOf<Omit<KnownEvents, "ping">>().toEqualTypeOf<Omit<CheckedContract, "ping">>();
  expectTypeOf<KnownEvents["ping"]>().toEqualTypeOf<Contract["ping"]>();
});

test("an unknown property of an event is an error", () => {
  if (!isKnownEvent(event)) return;
  // @ts-expect-error blance
  if (event.type === "balance.changed") event.data.blance;
  // @ts-expect-error typ
  if (event.type === "balance.changed") event.data.operation?.typ;
  // @ts-expect-error dta
  event.dta;
});

test("isWebhookVerificationError narrows to the error with its reason", () => {
  const error: unknown = undefined;
  if (isWebhookVerificationError(error))
    expectTypeOf(error.reason).toEqualTypeOf<VerificationErrorReason>();
});

test("onEvents types each handler, and reports a missing one", () => {
  onEvents({
    ...nothingForEach,
    "card.added": (added) => void expectTypeOf(added.data.passId).toEqualTypeOf<string>(),
    "balance.changed": (changed) => void expectTypeOf(changed.data.balance).toEqualTypeOf<number>(),
    unexpectedData: (unknown) => void expectTypeOf(unknown).toEqualTypeOf<UnknownEvent>(),
  });
  onEvents({ "balance.changed": nothing, otherTypes: nothing });
  // @ts-expect-error the other handlers are missing, and there is no `otherTypes`
  onEvents({ "balance.changed": nothing });
  // @ts-expect-error this event type does not exist
  onEvents({ "balance.change": nothing, otherTypes: nothing });
});

test("each adapter fits its framework", () => {
  expectTypeOf(expressReceiver({ secret: "s" })).toExtend<RequestHandler>();
  expectTypeOf(fastifyReceiver).toExtend<FastifyPluginAsync<FastifyReceiverOptions>>();
  expectTypeOf(nodeReceiver({ secret: "s" })).toExtend<RequestListener>();
  expectTypeOf(nextRoute({ secret: "s" })).toExtend<(request: Request) => Promise<Response>>();
  expectTypeOf(nextPagesHandler({ secret: "s" })).toExtend<
    (request: IncomingMessage, response: ServerResponse) => unknown
  >();
  expectTypeOf(fetchReceiver({ secret: "s" })).toExtend<(request: Request) => Promise<Response>>();
});

test("a Lambda receiver handles every kind of event, and has no afterResponse", () => {
  const handler = lambdaReceiver({ secret: "s" });
  expectTypeOf(handler).toExtend<APIGatewayProxyHandlerV2>();
  expectTypeOf(handler).toExtend<ALBHandler>();
  expectTypeOf<ALBEvent>().toExtend<Parameters<typeof handler>[0]>();
  expectTypeOf<APIGatewayProxyEvent>().toExtend<Parameters<typeof handler>[0]>();
  // The type of a REST API does not allow `headers: undefined`, so the result omits it.
  expectTypeOf(handler).toExtend<APIGatewayProxyHandler>();
  // @ts-expect-error a function is frozen after its response
  lambdaReceiver({ secret: "s", afterResponse: () => {} });
});

test("the secret is required", () => {
  // @ts-expect-error secret is required
  expressReceiver({});
  // @ts-expect-error secret is required
  verifyWebhook({ rawBody: "", signature: "" });
});
