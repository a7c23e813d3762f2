/** Generated from openapi.yaml by `npm run generate`. Do not edit. */

export type { paths, webhooks } from "./schema.ts";
