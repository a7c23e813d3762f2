/** Routes for templates. */
import { listOf, number, object, oneOf, text, truth } from "../domain/shape.ts";
import { archiveTemplate, createTemplate, fieldTypes, type TemplateInput } from "../domain/templates.ts";
import { type ControlRoute, created, ok } from "./route.ts";

const template = object(
  {
    id: text,
    name: text,
    fields: listOf(
      object({ key: text, type: oneOf(fieldTypes), required: truth, label: text }, ["key", "type"]),
    ),
    tiers: listOf(object({ name: text, from: number() }, ["name", "from"])),
  },
  ["name"],
);

export const templateRoutes: ControlRoute[] = [
  {
    method: "GET",
    path: "/_mock/templates",
    run: ({ world }) => ok({ items: [...world.domain.state.templates.values()] }),
  },
  {
    method: "POST",
    path: "/_mock/templates",
    takes: template,
    run: ({ world, body }) => created(createTemplate(world.domain, body as TemplateInput)),
  },
  {
    method: "POST",
    path: "/_mock/templates/*/archive",
    run: ({ world, params: [id = ""] }) => ok(archiveTemplate(world.domain, id)),
  },
];
