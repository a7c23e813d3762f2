/** Types of Koa 2: those of Koa 3, which fit the calls in the tests. */
declare module "koa-2" {
  import Koa from "koa";
  export default Koa;
}

declare module "koa-bodyparser" {
  import type { Middleware } from "koa";
  export default function bodyParser(): Middleware;
}
