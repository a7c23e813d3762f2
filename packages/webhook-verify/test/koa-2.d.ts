/** Koa 2 beside Koa 3, with the types of the latter: the tests use what both have. */
declare module "koa-2" {
  import Koa from "koa";
  export default Koa;
}

declare module "koa-bodyparser" {
  import type { Middleware } from "koa";
  export default function bodyParser(): Middleware;
}
