/** The privacy notice that the sign-up form names, with its version. */
import type { Metadata } from "next";
import { consentVersions } from "../../shop/loyalty";

export const metadata: Metadata = { title: "Privacy notice" };

export default function Privacy() {
  return (
    <article className="panel text">
      <h1>Privacy notice</h1>
      <p className="version">Version {consentVersions.privacy}</p>
      <p>
        This is where your own notice goes. What counts is its version: the sign-up form carries the version
        that was on the screen, and the loyalty service keeps it as evidence of what was accepted.
      </p>
      <p>
        When the text changes, so does the version. A form that was opened before is then shown again, with
        the new text, and nobody agrees to what they have not seen.
      </p>
    </article>
  );
}
