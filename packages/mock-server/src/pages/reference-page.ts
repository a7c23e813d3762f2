/**
 * The page of the API reference, which Swagger UI completes: contents, the base URL, and what a
 * receiver of webhooks gets.
 */
import type openapi from "@loyalty-cards/openapi/openapi.json";
import { html } from "hono/html";
import { type Markup, page } from "./html.ts";

type Document = typeof openapi;

interface ReferenceView {
  baseUrl: string;
  /** A valid key; empty when there is none. */
  apiKey: string;
  templateId: string;
  /** The newest card; empty when there is none. */
  cardId: string;
}

export function referencePage(document: Document, view: ReferenceView): Markup {
  const { info } = document;
  return page({
    title: "API reference",
    up: "../",
    head: html`<link rel="stylesheet" href="docs/reference.css">
<link rel="stylesheet" href="docs/operations.css">
<script src="docs/swagger-ui-bundle.js" defer></script>
<script src="docs/start.js" type="module"></script>`,
    content: html`<nav aria-label="Contents">
<a href="../console">← Back to the console</a>
<button type="button" popovertarget="contents">Contents</button>
<div id="contents" popover>
<input type="search" placeholder="Search" aria-label="Search the reference">
<output></output>
${contents(document)}
</div>
</nav>
<main>
<h1>${info.title}</h1>
<div class="opblock-body">
<p>${info.description}</p>
<dl>
<dt>Base URL</dt><dd><code>${view.baseUrl}/api/v1</code></dd>
<dt>Header</dt><dd><code>Authorization: Bearer ${view.apiKey || "…"}</code></dd>
<dt>Document</dt><dd><a href="docs/json">OpenAPI ${document.openapi}</a></dd>
</dl>
<p>Execute sends a request to this mock service. The form of issueCard has a new customer each time this page is loaded.</p>
<div class="examples"><code-block text="${toProgram(view)}"></code-block></div>
</div>
<div id="reference" data-api-key="${view.apiKey}" data-template-id="${view.templateId}" data-card-id="${view.cardId}">
<p>Loading the operations…</p>
</div>
${webhooks(document)}
</main>`,
  });
}

/** What the calls below begin with. */
const toProgram = ({ baseUrl, apiKey }: ReferenceView): string =>
  `// LOYALTY_URL=${baseUrl}
// LOYALTY_API_KEY=${apiKey}
import { createIssuingClient } from "@loyalty-cards/issuing-client";

const loyalty = createIssuingClient(); // reads both
`;

/** The operations and the webhooks, by tag. */
function contents({ paths, tags, webhooks }: Document): Markup[] {
  const operations = Object.values(paths)
    .flatMap((path) => Object.entries(path))
    .map(([method, { operationId, tags }]) => ({ id: operationId, tags, method }));
  const events = Object.entries(webhooks).map(([type, { post }]) => ({ id: type, ...post }));
  const toLink = (id: string, method = "") =>
    html`<li><a href="#${id}">${method && html`<b class="${method}">${method}</b> `}${id}</a></li>\n`;
  return tags.map(
    ({ name }) => html`<p><a href="#${name}">${name}</a></p>
<ul aria-label="${name}">
${[...operations, ...events]
  .filter(({ tags }) => tags.includes(name))
  .map((entry) => toLink(entry.id, "method" in entry ? entry.method : ""))}
</ul>`,
  );
}

/** What a receiver gets: nothing here can be sent. */
function webhooks(document: Document): Markup {
  const { components, tags, webhooks } = document;
  const { ServiceEvent, ServiceDelivery, ServiceSignature } = components.parameters;
  const headers = [ServiceEvent, ServiceDelivery, ServiceSignature];
  const about = tags.find(({ name }) => name === "Webhooks");
  const schemas: Readonly<Record<string, Schema>> = components.schemas;
  const examples: Readonly<Record<string, { value?: unknown }>> = components.examples;
  const resolve = (schema: Schema): Schema => schemas[toName(schema)] ?? schema;
  const events = Object.entries(webhooks).map(([type, { post }]): Webhook => {
    const { schema } = post.requestBody.content["application/json"];
    const name = toName(schema);
    const data = resolve(resolve(schema).properties?.["data"] ?? {});
    const lines = headers.map(
      ({ name, example }) => `${name}: ${name === "Service-Event" ? type : example}`,
    );
    const body = JSON.stringify(examples[name]?.value, null, 2);
    const delivery = [
      "POST /webhooks/loyalty",
      "Content-Type: application/json",
      ...lines,
      "",
      body,
    ];
    // The replacer also gets what is in a schema that it returns.
    const members = JSON.stringify(data, (_key, value) => resolve(value));
    return { type, ...post, data, members, delivery: delivery.join("\n") };
  });
  const members = headers.map(({ name, schema, description }) => [
    name,
    { ...schema, description },
  ]);
  const allHeaders = {
    properties: Object.fromEntries(members),
    required: headers.map(({ name }) => name),
  };
  return html`<section aria-labelledby="Webhooks">
<h2 id="Webhooks">Webhooks</h2>
<div class="opblock-body">
<p>${withCode(about?.description)}</p>
<p>The signatures below are placeholders. For a webhook with a real one, record a purchase on a card in the <a href="../console#/cards">console</a>, or run <code>loyalty-cards trigger balance.changed</code>.</p>
<member-table label="Headers of a webhook" schema="${JSON.stringify(allHeaders)}"></member-table>
<div class="examples"><code-block text="${toReceiver(events)}"></code-block></div>
</div>
${events.map(webhook)}
</section>`;
}

interface Schema {
  $ref?: string;
  description?: string;
  required?: readonly string[];
  properties?: Readonly<Record<string, Schema>>;
}

interface Webhook {
  type: string;
  summary: string;
  description: string;
  /** The schema of its data. */
  data: Schema;
  /** The same as JSON without references. */
  members: string;
  /** An example of the request. */
  delivery: string;
}

const toName = (schema?: Schema): string => schema?.$ref?.split("/").at(-1) ?? "";

function webhook({ type, summary, description, data, members, delivery }: Webhook): Markup {
  return html`<article class="opblock">
<header id="${type}"><h3>${summary}</h3><code>${type}</code></header>
<div class="opblock-body">
<p>${withCode(description)}</p>
${
  data.properties === undefined
    ? html`<p>data: ${data.description}</p>`
    : html`<member-table label="Data of ${type}" path="data." schema="${members}"></member-table>`
}
<div class="examples">
<h4>Your endpoint receives</h4>
<code-block text="${delivery}"></code-block>
</div>
</div>
</article>`;
}

/** Text of the document with code between backticks. */
const withCode = (text = ""): (Markup | string)[] =>
  text.split("`").map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));

/** A receiver with a handler for each event, which has the members that are always there. */
function toReceiver(events: readonly Webhook[]): string {
  const lines = events.map(({ type, data: { required } }) => {
    const members = required === undefined ? "id" : `data: { ${required.join(", ")} }`;
    return `  "${type}": async ({ ${members} }) => {},`;
  });
  return `import { onEvents } from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import express from "express";

const handler = onEvents({
${lines.join("\n")}
});
const secret = () => process.env.LOYALTY_SIGNING_SECRET;
const receiver = expressReceiver({ secret, handler });
express().post("/webhooks/loyalty", receiver).listen(3000);`;
}
