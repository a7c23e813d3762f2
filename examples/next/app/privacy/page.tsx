/** The privacy notice of the sign-up form, with its version. */
import type { Metadata } from "next";
import { consentVersions } from "../../shop/loyalty";

export const metadata: Metadata = { title: "Privacy notice" };

export default function Privacy() {
  return (
    <article className="panel text">
      <h1>Privacy notice</h1>
      <p className="version">Version {consentVersions.privacy}</p>
      <p>
        Replace this text with your own privacy notice. The sign-up form sends the
        version that the visitor saw, and the loyalty service stores it as evidence
        of the consent.
      </p>
      <p>
        Change the version whenever the text changes. A form that was opened before
        the change is then shown again with the new version, so visitors accept only
        the text that they have seen.
      </p>
    </article>
  );
}
