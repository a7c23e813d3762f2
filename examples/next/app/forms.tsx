/**
 * What runs in the browser: the sign-up form and the switch for news and offers, which also work
 * without scripts, and the update of a member's page.
 */
"use client";
import { useRouter } from "next/navigation";
import { useActionState, useEffect, useRef } from "react";
import type { FormState } from "../shop/sign-up";
import { changeNews, join } from "./actions";

const untouched: FormState = { values: {}, errors: {} };

const inputs = [
  { name: "name", label: "Name", required: true },
  {
    name: "phone",
    label: "Phone number",
    type: "tel",
    placeholder: "+48 600 100 200",
  },
  { name: "email", label: "Email address", type: "email" },
] as const;

interface SignUpFormProps {
  versions: { privacy: string; news: string };
  formId: string;
}

export function SignUpForm({ versions, formId }: SignUpFormProps) {
  const [{ values, errors }, action, isPending] = useActionState(join, untouched);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (Object.keys(errors).length === 0) return;
    const wrong = '[aria-invalid="true"], .alert';
    form.current?.querySelector<HTMLElement>(wrong)?.focus();
  }, [errors]);

  const describe = (name: keyof FormState["errors"]) =>
    errors[name] !== undefined && {
      "aria-invalid": true,
      "aria-describedby": `${name}-error`,
    };
  const showError = (name: keyof FormState["errors"]) => (
    <p className="error" id={`${name}-error`}>
      {errors[name]}
    </p>
  );

  return (
    <form ref={form} action={action} className="panel stack sign-up">
      <h2>Join the club</h2>
      <input type="hidden" name="formId" value={values.formId ?? formId} />
      {errors.form !== undefined && (
        <p className="error alert" role="alert" tabIndex={-1}>
          {errors.form}
        </p>
      )}
      {inputs.map(({ name, label, ...input }) => (
        <div className="field" key={name}>
          <label htmlFor={name}>
            {label}{" "}
            {!("required" in input) && <span className="quiet">optional</span>}
          </label>
          <input
            {...input}
            {...describe(name)}
            {...{ name, id: name, autoComplete: name === "phone" ? "tel" : name }}
            defaultValue={values[name]}
            maxLength={200}
          />
          {showError(name)}
        </div>
      ))}
      <div className="field" key={JSON.stringify(values)}>
        <label className="choice">
          <input
            {...describe("privacy")}
            type="checkbox"
            name="privacy"
            value={versions.privacy}
            defaultChecked={values.privacy === versions.privacy}
            required
          />
          <span>
            I have read the <a href="#privacy">privacy notice</a>{" "}
            <span className="quiet">version {versions.privacy}</span>
          </span>
        </label>
        {showError("privacy")}
        <label className="choice">
          <input
            type="checkbox"
            name="news"
            value={versions.news}
            defaultChecked={values.news === versions.news}
          />
          <span>
            Send me news and offers <span className="quiet">optional</span>
          </span>
        </label>
      </div>
      <button type="submit" className="primary" aria-disabled={isPending}>
        {isPending ? "One moment…" : "Get my card"}
      </button>
    </form>
  );
}

const checkMs = 2_000;

/** Renders the page again when another state than the shown one is stored. */
export function Live({ state }: { state: string }) {
  const router = useRouter();
  useEffect(() => {
    const timer = setInterval(async () => {
      // The server may be restarting.
      const response = await fetch("/member/state").catch(() => undefined);
      if (response?.ok && (await response.text()) !== state) router.refresh();
    }, checkMs);
    return () => clearInterval(timer);
  }, [router, state]);
  return null;
}

export function NewsConsent({ wantsNews }: { wantsNews: boolean }) {
  const [error, action, isPending] = useActionState(changeNews, "");
  return (
    <form action={action} className="panel row news">
      <div>
        <h2 id="news">News and offers</h2>
        <p className="quiet" role="status">
          {wantsNews
            ? "We send you news and offers."
            : "We do not send you news or offers."}
        </p>
      </div>
      <input type="hidden" name="marketing" value={String(!wantsNews)} />
      <button
        type="submit"
        role="switch"
        aria-checked={wantsNews}
        aria-labelledby="news"
        aria-disabled={isPending}
        className="switch plain"
      >
        {wantsNews ? "On" : "Off"}
      </button>
      <p className="error" aria-live="polite">
        {error}
      </p>
    </form>
  );
}
