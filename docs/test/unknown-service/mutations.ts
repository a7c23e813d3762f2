/** Every mutation. */
import { cardMutations } from "./card-mutations.ts";
import { customerMutations } from "./customer-mutations.ts";
import { errorMutations } from "./error-mutations.ts";
import { historyMutations } from "./history-mutations.ts";
import { idempotencyMutations } from "./idempotency-mutations.ts";
import type { Mutation } from "./mutation.ts";
import { webhookMutations } from "./webhook-mutations.ts";

export const mutations: readonly Mutation[] = [
  ...cardMutations,
  ...customerMutations,
  ...idempotencyMutations,
  ...historyMutations,
  ...errorMutations,
  ...webhookMutations,
];
