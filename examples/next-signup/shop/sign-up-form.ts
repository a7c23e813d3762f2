/** Reads the sign-up form, and says what is wrong with it. */
import type { RejectedField } from "@loyalty-cards/issuing-client";
import { consentVersions } from "./loyalty";
import type { Draft } from "./members";

export const fields = ["name", "phone", "email", "privacy"] as const;
export type Field = (typeof fields)[number];

/** What the form shows again: what was typed, and what is wrong with it. */
export interface FormState {
  values: Partial<Record<Field | "news" | "formId", string>>;
  faults: Partial<Record<Field | "form", string>>;
}

export function readForm(form: FormData): FormState & { draft: Draft; formId: string } {
  const text = (name: string) => {
    const value = form.get(name);
    return typeof value === "string" ? value.trim().slice(0, 200) : "";
  };
  const values = Object.fromEntries([...fields, "news", "formId"].map((name) => [name, text(name)]));
  const { name = "", phone = "", email = "", privacy = "", news = "", formId = "" } = values;
  const faults: FormState["faults"] = {};
  if (name === "") faults.name = "Please tell us your name.";
  if (email !== "" && !/^[^\s@]+@[^\s@]+$/.test(email)) faults.email = "This is not an e-mail address.";
  if (privacy !== consentVersions.privacy) faults.privacy = "Please read and accept the privacy notice.";
  if (!/^[\da-f-]{36}$/.test(formId)) faults.form = "Please load this page again.";
  const newsVersion = news === consentVersions.news ? news : null;
  return {
    values,
    faults,
    draft: { name, phone, email: email === "" ? null : email, privacyVersion: privacy, newsVersion },
    formId,
  };
}

/** Where a refusal of the service belongs. That it points at members is not promised: without, it is the form's. */
export function rejectedField(rejected: readonly RejectedField[]): Field | "form" {
  return fields.find((field) => rejected.some(({ pointer }) => pointer.endsWith(`/${field}`))) ?? "form";
}
