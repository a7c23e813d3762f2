/** The shop of the guide "Getting started" on Fastify. */
import { fastifyReceiver } from "@loyalty-cards/webhook-verify/fastify";
import fastify from "fastify";
import {
  type Form,
  listUsers,
  signUp,
  webhooks,
} from "../../../examples/getting-started/loyalty.ts";

const app = fastify();
app.register(fastifyReceiver, { path: "/webhooks/loyalty", ...webhooks });

app.post<{ Body?: Form }>("/sign-up", async (request, reply) => {
  const { status, body } = await signUp(request.body ?? {});
  return reply.code(status).send(body);
});

app.get("/users", () => listUsers());

const port = Number(process.env.PORT ?? 3000);
await app.listen({ port }); // fails if the port is taken
console.log(`The shop is open on port ${port}.`);
