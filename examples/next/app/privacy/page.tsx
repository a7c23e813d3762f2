/** The privacy notice of the sign-up form, with its version. */
import type { Metadata } from "next";
import { consentVersions } from "../../shop/form";

export const metadata: Metadata = { title: "Privacy notice" };

export default function Privacy() {
  return (
    <article className="panel stack">
      <h1>Privacy notice</h1>
      <p className="quiet">Version {consentVersions.privacy}</p>
      <p>
        Replace this text with your own privacy notice. The loyalty service stores
        the version that the visitor accepted as evidence of the consent, so change
        it whenever the text changes. A form that was opened before is then shown
        again.
      </p>
    </article>
  );
}
