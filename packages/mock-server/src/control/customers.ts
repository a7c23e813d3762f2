/** Routes for customers. */
import type { Customer } from "../domain/customers.ts";
import { NotFoundError } from "../domain/not-found.ts";
import { pageOf } from "./page.ts";
import { type ControlRoute, ok } from "./route.ts";
import { customerView } from "./views.ts";

export const customerRoutes: ControlRoute[] = [
  {
    method: "GET",
    path: "/_mock/customers",
    run({ world, query }) {
      const wanted = query.get("query") ?? "";
      const found = [...world.domain.state.customers.values()].filter((customer) =>
        mentions(customer, wanted),
      );
      return pageOf(found.reverse(), query, customerView);
    },
  },
  {
    method: "GET",
    path: "/_mock/customers/*",
    run({ world, params: [id = ""] }) {
      const customer = world.domain.state.customers.get(id);
      if (customer === undefined) throw new NotFoundError(`There is no customer "${id}".`);
      return ok(customerView(customer));
    },
  },
];

/** Whether the words somebody types into a search field are in what is known of a customer. */
export function mentions({ id, name, phone, email }: Customer, wanted: string): boolean {
  const words = wanted.trim().toLowerCase();
  if (words === "") return true;
  const digits = words.replaceAll(/[\s()-]/g, "");
  return (
    [id, name, email].some((value) => value?.toLowerCase().includes(words)) ||
    (phone?.includes(digits) ?? false)
  );
}
