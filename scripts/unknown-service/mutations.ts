/** Every mutation, in the order of docs/assumptions.md. */
import { errorMutations, historyMutations } from "./api-mutations.ts";
import { cardMutations, issuingMutations } from "./card-mutations.ts";
import type { Mutation } from "./mutation.ts";
import { webhookMutations } from "./webhook-mutations.ts";

export const mutations: readonly Mutation[] = [
  ...cardMutations,
  ...issuingMutations,
  ...historyMutations,
  ...errorMutations,
  ...webhookMutations,
];
