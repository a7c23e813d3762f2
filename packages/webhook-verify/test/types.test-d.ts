/** The types an integrator meets: narrowing, exhaustiveness, and each adapter in its framework's slot. */
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
import type { Middleware } from "koa";
import { expectTypeOf, test } from "vitest";
import { expressReceiver } from "../src/adapters/express.ts";
import { type FastifyReceiverOptions, fastifyReceiver } from "../src/adapters/fastify.ts";
import { fetchReceiver } from "../src/adapters/fetch.ts";
import { koaReceiver } from "../src/adapters/koa.ts";
import { type LambdaEvent, lambdaReceiver } from "../src/adapters/lambda.ts";
import { nextPagesHandler, nextRoute } from "../src/adapters/next.ts";
import { nodeReceiver } from "../src/adapters/node.ts";
import type { KnownEvents } from "../src/event.ts";
import {
  isKnownEvent,
  isWebhookVerificationError,
  type KnownEvent,
  onEvents,
  type UnknownEvent,
  type VerificationFault,
  verifyWebhook,
  type WebhookEvent,
} from "../src/index.ts";

declare const event: WebhookEvent;
const nothing = () => {};

test("comparing `type` with a known name narrows to exactly that event", () => {
  if (event.type === "balance.changed") {
    expectTypeOf(event.data.balance).toEqualTypeOf<number>();
    expectTypeOf(event.data.operation.id).toEqualTypeOf<string>();
  }
  if (event.type === "consent.changed") expectTypeOf(event.data.passIds).toEqualTypeOf<string[]>();
});

test("a switch over the known types leaves the unknown event", () => {
  switch (event.type) {
    case "card.added":
    case "card.removed":
    case "balance.changed":
    case "tier.changed":
    case "consent.changed":
    case "ping":
      break;
    default:
      expectTypeOf(event).toEqualTypeOf<UnknownEvent>();
  }
});

type Contract = {
  [Type in keyof webhooks]: webhooks[Type]["post"]["requestBody"]["content"]["application/json"];
};

test("the events are those of the service's document, member by member", () => {
  expectTypeOf<KnownEvents>().toEqualTypeOf<Contract>();
});

test("a member that an event does not have is an error", () => {
  // @ts-expect-error blance
  if (event.type === "balance.changed") event.data.blance;
  // @ts-expect-error typ
  if (event.type === "balance.changed") event.data.operation.typ;
  // @ts-expect-error dta
  if (isKnownEvent(event)) event.dta;
});

test("members whose form the specification leaves open are unknown, and can be compared and narrowed", () => {
  if (event.type === "card.added") expectTypeOf(event.data.wallet).toEqualTypeOf<unknown>();
  if (event.type === "tier.changed") {
    const { tier, previous } = event.data;
    expectTypeOf(previous).toEqualTypeOf<unknown>();
    if (typeof tier === "string") expectTypeOf(tier).toEqualTypeOf<string>();
  }
  if (event.type === "consent.changed") {
    expectTypeOf(event.data.marketingConsent === true).toEqualTypeOf<boolean>();
  }
  if (event.type === "ping") expectTypeOf(event.data).toEqualTypeOf<unknown>();
});

test("isKnownEvent narrows to the known events, and leaves the unknown one", () => {
  if (isKnownEvent(event)) {
    expectTypeOf(event).toEqualTypeOf<KnownEvent>();
    if (event.type === "balance.changed") expectTypeOf(event.data.balance).toEqualTypeOf<number>();
  } else {
    expectTypeOf(event).toEqualTypeOf<UnknownEvent>();
  }
});

test("isWebhookVerificationError narrows to the error with its reason", () => {
  const error: unknown = undefined;
  if (isWebhookVerificationError(error)) expectTypeOf(error.reason).toEqualTypeOf<VerificationFault>();
});

test("onEvents types each handler and misses none", () => {
  onEvents({
    "card.added": (added) => void expectTypeOf(added.data.passId).toEqualTypeOf<string>(),
    "card.removed": nothing,
    "balance.changed": (changed) => void expectTypeOf(changed.data.balance).toEqualTypeOf<number>(),
    "tier.changed": nothing,
    "consent.changed": nothing,
    ping: nothing,
    unknown: (unknown) => void expectTypeOf(unknown).toEqualTypeOf<UnknownEvent>(),
  });
  onEvents({ "balance.changed": nothing, other: nothing });
  // @ts-expect-error five events are forgotten and there is no `other`
  onEvents({ "balance.changed": nothing });
  // @ts-expect-error there is no such event
  onEvents({ "balance.change": nothing, other: nothing });
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
  expectTypeOf(koaReceiver({ secret: "s" })).toExtend<Middleware>();
});

test("a Lambda receiver is a handler of every kind of event, and takes no process", () => {
  const handler = lambdaReceiver({ secret: "s" });
  expectTypeOf(handler).toExtend<APIGatewayProxyHandlerV2>();
  expectTypeOf(handler).toExtend<ALBHandler>();
  expectTypeOf<ALBEvent>().toExtend<LambdaEvent>();
  expectTypeOf<APIGatewayProxyEvent>().toExtend<LambdaEvent>();
  // A REST API insists that `headers` is no undefined member; the result has none.
  expectTypeOf(handler).toExtend<APIGatewayProxyHandler>();
  // @ts-expect-error a function freezes once it has answered
  lambdaReceiver({ secret: "s", process: () => {} });
});

test("the secret cannot be forgotten", () => {
  // @ts-expect-error secret is required
  expressReceiver({});
  // @ts-expect-error secret is required
  verifyWebhook({ rawBody: "", signature: "" });
});
