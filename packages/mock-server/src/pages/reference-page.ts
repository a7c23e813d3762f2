/** The page of the API reference (spec 4.6): interactive on a port, a notice in other programs. */
import { html, type Markup, page } from "./html.ts";

/** Loads the files of Swagger UI, and fills in the API key and the template of the first request. */
export const referencePage = ({ apiKey, templateId }: { apiKey: string; templateId: string }): Markup =>
  document(
    html`<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/reference.css">
<script src="docs/swagger-ui-bundle.js" defer></script>
<script src="docs/start.js" type="module"></script>`,
    html`<div id="reference" data-api-key="${apiKey}" data-template-id="${templateId}"></div>`,
  );

/** For services inside other programs, which do not serve the files of Swagger UI. */
export const referenceNoticePage = (): Markup =>
  document(
    html`<link rel="stylesheet" href="../assets/page.css">`,
    html`<main class="lost">
<h1>API reference</h1>
<p>The OpenAPI document is at <a href="docs/json"><code>/api/docs/json</code></a>.</p>
<p>This service runs inside another program and does not serve the interactive reference. Start the service on a port to try the API in a browser:</p>
<pre><code>npx @loyalty-cards/mock-server</code></pre>
</main>`,
  );

const document = (head: Markup, content: Markup): Markup =>
  page(
    "API reference",
    "../",
    head,
    html`<nav class="to-console" aria-label="Console"><a href="../console">← Back to the console</a></nav>
${content}`,
  );
