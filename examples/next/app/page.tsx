/** The sign-up page. A signed-in member is redirected to the card. */
import { redirect } from "next/navigation";
import { consentVersions } from "../shop/form";
import { currentMember } from "../shop/session";
import { SignUpForm } from "./sign-up-form";

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
    </div>
  );
}
