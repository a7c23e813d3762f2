/** Parses and validates the sign-up form. */
import type { RejectedField } from "@loyalty-cards/issuing-client";
import { consentVersions } from "./loyalty";
import type { Draft } from "./members";

export const fields = ["name", "phone", "email", "privacy"] as const;
export type Field = (typeof fields)[number];

/** The state of a rejected form: the input and the errors. */
export interface FormState {
  values: Partial<Record<Field | "news" | "formId", string>>;
  errors: Partial<Record<Field | "form", string>>;
}

export function readForm(
  form: FormData,
): FormState & { draft: Draft; formId: string } {
  const text = (name: string) => {
    const value = form.get(name);
    return typeof value === "string" ? value.trim().slice(0, 200) : "";
  };
  const values = Object.fromEntries(
    [...fields, "news", "formId"].map((name) => [name, text(name)]),
  );
  const {
    name = "",
    phone = "",
    email = "",
    privacy = "",
    news = "",
    formId = "",
  } = values;
  const errors: FormState["errors"] = {};
  if (name === "") errors.name = "Please enter your name.";
  if (email !== "" && !/^[^\s@]+@[^\s@]+$/.test(email))
    errors.email = "This is not an email address.";
  if (privacy !== consentVersions.privacy)
    errors.privacy = "Please read and accept the privacy notice.";
  if (!/^[\da-f-]{36}$/.test(formId)) errors.form = "Please load this page again.";
  const newsVersion = news === consentVersions.news ? news : null;
  return {
    values,
    errors,
    draft: {
      name,
      phone,
      email: email === "" ? null : email,
      privacyVersion: privacy,
      newsVersion,
    },
    formId,
  };
}

/** The field of a validation error. The service may name none; then the error belongs to the whole form. */
export function rejectedField(rejected: readonly RejectedField[]): Field | "form" {
  return (
    fields.find((field) =>
      rejected.some(({ pointer }) => pointer.endsWith(`/${field}`)),
    ) ?? "form"
  );
}
