/** The page at the address of the service: links to everything that it serves. */
import type { CardView } from "./card-view.ts";
import { html, type Markup, page } from "./html.ts";

const repository = "https://github.com/loyalty-cards/loyalty-cards/blob/main/packages/mock-server";

/** @param newest the card that was issued last. */
export const startPage = (newest: CardView | undefined): Markup =>
  page(
    "Mock service",
    "",
    html`<link rel="stylesheet" href="assets/page.css">`,
    html`<main class="start">
<h1>Mock service</h1>
<p>A mock of the Loyalty Card Issuing Service, for development and tests. Its API is at <code>/api/v1</code>.</p>
<nav aria-label="Pages of this service">
${link("console", "Console", "Issue cards, record purchases, watch webhooks, and copy the API keys.")}
${link("api/docs", "API reference", "Read about each operation and try it.")}
${
  newest === undefined
    ? html``
    : link(
        `cards/${newest.slug}`,
        `Newest card: ${newest.shopName}`,
        "What the customer sees, with its QR code.",
      )
}
${link(`${repository}/CONTROL.md`, "Control API", "Do from a program what the console does.")}
${link(`${repository}/README.md`, "README", "Use the service in tests, with seeds and faults.")}
</nav>
</main>`,
  );

const link = (address: string, title: string, text: string): Markup =>
  html`<a href="${address}"><strong>${title}</strong> ${text}</a>`;
