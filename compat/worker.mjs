/** workerd: runs the matrix on the built package for whoever posts the set-up. */
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { runMatrix } from "./matrix.mjs";

export default {
  async fetch(request) {
    const setup = await request.json();
    return Response.json(await runMatrix({ createIssuingClient, ...setup }));
  },
};
