/** The sign-up form. Its action runs on the server, with scripts or without. */
"use client";
import { type ReactNode, useActionState, useEffect, useRef } from "react";
import type { FormState } from "../shop/sign-up-form";
import { signUp } from "./actions";

const untouched: FormState = { values: {}, errors: {} };

interface SignUpFormProps {
  versions: { privacy: string; news: string };
  formId: string;
}

export function SignUpForm({ versions, formId }: SignUpFormProps) {
  const [{ values, errors }, action, isPending] = useActionState(signUp, untouched);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (Object.keys(errors).length > 0)
      form.current
        ?.querySelector<HTMLElement>('[aria-invalid="true"], .alert')
        ?.focus();
  }, [errors]);

  const text = (name: "name" | "phone" | "email") => ({
    id: name,
    name,
    defaultValue: values[name],
    "aria-invalid": errors[name] !== undefined,
    "aria-describedby": errors[name] === undefined ? undefined : `${name}-error`,
  });
  const showError = (name: keyof FormState["errors"]): ReactNode =>
    errors[name] !== undefined && (
      <p className="error" id={`${name}-error`}>
        {errors[name]}
      </p>
    );

  return (
    <form
      ref={form}
      action={action}
      className="panel sign-up"
      aria-labelledby="join"
    >
      <h2 id="join">Join the club</h2>
      <input type="hidden" name="formId" value={values.formId ?? formId} />
      {errors.form !== undefined && (
        <p className="alert" role="alert" tabIndex={-1}>
          {errors.form}
        </p>
      )}
      <div className="field">
        <label htmlFor="name">Name</label>
        <input {...text("name")} required autoComplete="name" maxLength={200} />
        {showError("name")}
      </div>
      <div className="field">
        <label htmlFor="phone">
          Phone number <span className="version">optional</span>
        </label>
        <input
          {...text("phone")}
          type="tel"
          autoComplete="tel"
          maxLength={200}
          placeholder="600 100 200"
        />
        {showError("phone")}
      </div>
      <div className="field">
        <label htmlFor="email">
          Email address <span className="version">optional</span>
        </label>
        <input
          {...text("email")}
          type="email"
          autoComplete="email"
          maxLength={200}
        />
        {showError("email")}
      </div>
      <div className="choices" key={JSON.stringify(values)}>
        <label className="choice">
          <input
            type="checkbox"
            name="privacy"
            value={versions.privacy}
            defaultChecked={values.privacy === versions.privacy}
            required
            aria-invalid={errors.privacy !== undefined}
            aria-describedby={
              errors.privacy === undefined ? undefined : "privacy-error"
            }
          />
          <span>
            I have read the{" "}
            <a href="/privacy" target="_blank" rel="noopener">
              privacy notice
            </a>{" "}
            <span className="version">version {versions.privacy}</span>
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
            Send me news and offers <span className="version">optional</span>
          </span>
        </label>
      </div>
      <button type="submit" className="primary" aria-disabled={isPending}>
        {isPending ? "One moment…" : "Get my card"}
      </button>
    </form>
  );
}
