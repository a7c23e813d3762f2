/** The shop of the guide "Getting started" on Express. */
// #region express
// shop-express.ts
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import express from "express";
import { listUsers, signUp, webhooks } from "./loyalty.ts";

const app = express();
app.post("/webhooks/loyalty", expressReceiver(webhooks)); // above express.json()
app.use(express.json());

app.post("/sign-up", async (request, response) => {
  const { status, body } = await signUp(request.body ?? {});
  response.status(status).json(body);
});

app.get("/users", async (_request, response) => {
  response.json(await listUsers());
});

const port = Number(process.env.PORT ?? 3000);
app.listen(port, (error) => {
  if (error) throw error; // such as a port that is taken
  console.log(`The shop is open on port ${port}.`);
});
// #endregion
