/** The sign-up page, with the privacy notice. A signed-in member is redirected to the card. */
import { redirect } from "next/navigation";
import { currentMember } from "../shop/members";
import { consentVersions } from "../shop/sign-up";
import { SignUpForm } from "./forms";

export default async function SignUpPage() {
  if ((await currentMember()) !== undefined) redirect("/member");
  return (
    <div className="columns">
      <section className="stack">
        <p className="accent">The Harbour Club</p>
        <h1>Every cup brings you closer to the next one.</h1>
        <ul className="promises stack">
          <li>
            <strong>A point for every złoty.</strong> They are on your card before
            you leave the counter.
          </li>
          <li>
            <strong>Always with you.</strong> The card lives in your phone’s wallet;
            nothing to install.
          </li>
          <li>
            <strong>Yours to leave.</strong> News only if you ask for them, and one
            tap ends them.
          </li>
        </ul>
      </section>
      <SignUpForm versions={consentVersions} formId={crypto.randomUUID()} />
      <section id="privacy" className="stack">
        <h2>Privacy notice</h2>
        <p className="quiet">Version {consentVersions.privacy}</p>
        <p>
          Replace this text with your own. The service stores the version that the
          visitor accepted as evidence of the consent, so change it whenever the
          text changes: a form that was opened before is then shown again.
        </p>
      </section>
    </div>
  );
}
