/** What somebody sees whose link leads to no card. */
import { customerPage } from "./card-page.ts";
import { html, type Markup } from "./html.ts";

export const notFoundPage = (up: string): Markup =>
  customerPage(
    "No card here",
    up,
    html`<main class="lost">
<p class="lost-card" aria-hidden="true">404</p>
<h1>There is no card here</h1>
<p>The link may be incomplete, or the mock service was started anew since the card was issued.</p>
</main>`,
  );
