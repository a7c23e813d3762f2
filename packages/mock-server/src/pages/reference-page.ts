/** The page of the reference (spec 4.6): to try the API on, or to say where that can be done. */
import { html, type Markup } from "./html.ts";

export interface FilledIn {
  apiKey: string;
  templateId: string;
}

/** Needs Swagger UI's files beside it. @param filledIn what somebody needs for a first try. */
export const referencePage = ({ apiKey, templateId }: FilledIn): Markup =>
  framed(
    html`<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/reference.css">
<script src="docs/swagger-ui-bundle.js" defer></script>
<script src="docs/start.js" type="module"></script>`,
    html`<main id="reference" data-api-key="${apiKey}" data-template-id="${templateId}"></main>`,
  );

/** For services inside other programs, which have no files. */
export const referenceElsewherePage = (): Markup =>
  framed(
    html`<link rel="stylesheet" href="../assets/card.css">`,
    html`<main class="lost">
<h1>API reference</h1>
<p>The OpenAPI document is at <a href="docs/json"><code>/api/docs/json</code></a>.</p>
<p>This service runs inside another program, without the files of the interactive reference. Start it on a port to try the API from a page:</p>
<pre><code>npx @loyalty-cards/mock-server</code></pre>
</main>`,
  );

const framed = (head: Markup, content: Markup): Markup => html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>API reference</title>
<link rel="icon" href="../assets/icon.svg">
${head}
</head>
<body>
${content}
</body>
</html>`;
