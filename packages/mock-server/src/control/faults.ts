/** Routes for faults. */
import { anyObject } from "../domain/shape.ts";
import type { FaultInput } from "../faults/fault-shape.ts";
import { addFault, clearFaults, removeFault } from "../faults/rules.ts";
import { type ControlRoute, created, done, ok } from "./route.ts";

export const faultRoutes: ControlRoute[] = [
  {
    method: "GET",
    path: "/_mock/faults",
    run: ({ world }) => ok({ items: [...world.domain.state.faults.values()] }),
  },
  {
    method: "POST",
    path: "/_mock/faults",
    takes: anyObject, // what it may say, addFault knows
    run: ({ world, body }) => created(addFault(world.domain, body as FaultInput)),
  },
  {
    method: "DELETE",
    path: "/_mock/faults",
    run({ world }) {
      clearFaults(world.domain);
      return done;
    },
  },
  {
    method: "DELETE",
    path: "/_mock/faults/*",
    run({ world, params: [id = ""] }) {
      removeFault(world.domain, id);
      return done;
    },
  },
];
