/** The reference where there are no files to serve: it says where the document is, and where it can be tried. */
import { html, type Markup } from "./html.ts";

export const referencePage = (): Markup => html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>API reference</title>
<link rel="icon" href="../assets/icon.svg">
<link rel="stylesheet" href="../assets/card.css">
</head>
<body>
<main class="lost">
<h1>API reference</h1>
<p>The OpenAPI document is at <a href="docs/json"><code>/api/docs/json</code></a>.</p>
<p>This service runs inside another program, without the files of the interactive reference. Start it on a port to try the API from a page:</p>
<pre><code>npx @loyalty-cards/mock-server</code></pre>
</main>
</body>
</html>`;
