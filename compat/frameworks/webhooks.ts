/** The options that the guide shows for every framework. */
export { saved } from "../../examples/snippets/receivers/balances.ts";
export { webhooks } from "../../examples/snippets/receivers/webhooks.ts";
