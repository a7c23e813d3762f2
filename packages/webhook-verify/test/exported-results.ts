/** A program that exports what each function returns; `public-surface.test.ts` emits its declarations. */
import { createReceiver, memoryDedupe, onEvents, verifyWebhook } from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { koaReceiver } from "@loyalty-cards/webhook-verify/koa";
import { lambdaReceiver } from "@loyalty-cards/webhook-verify/lambda";
import { nestReceiver } from "@loyalty-cards/webhook-verify/nest";
import { nextPagesHandler, nextRoute } from "@loyalty-cards/webhook-verify/next";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";

const options = { secret: "s", handler: onEvents({ otherTypes: () => {} }) };
export const handler = onEvents({ "card.added": ({ data }) => data, otherTypes: () => {} });
export const verified = verifyWebhook({ rawBody: "", signature: "", secret: "s" });
export const dedupe = memoryDedupe();
export const receivers = [
  createReceiver,
  expressReceiver,
  fetchReceiver,
  koaReceiver,
  lambdaReceiver,
  nestReceiver,
  nextPagesHandler,
  nextRoute,
  nodeReceiver,
] as const;
export const created = [
  createReceiver(options),
  expressReceiver(options),
  fetchReceiver(options),
  koaReceiver(options),
  lambdaReceiver(options),
  nestReceiver(options),
  nextPagesHandler(options),
  nextRoute(options),
  nodeReceiver(options),
] as const;
