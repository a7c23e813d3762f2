/** The sign-up: checks the form, saves the member, issues the card, and never fails because loyalty does. */
"use server";
import { isIssuingError, ProblemError } from "@loyalty-cards/issuing-client";
import { redirect } from "next/navigation";
import { putOff } from "../shop/cards-later";
import { issueCardTo } from "../shop/issue-card";
import { forgetMember, saveMember } from "../shop/members";
import { beginSession } from "../shop/session";
import { type FormState, fieldAtFault, readForm } from "../shop/sign-up-form";

/** Nobody waits longer for a card; it comes later. */
const patienceMs = 4_000;

export async function signUp(_before: FormState, form: FormData): Promise<FormState> {
  const { values, faults, draft, formId } = readForm(form);
  if (Object.keys(faults).length > 0) return { values, faults };

  const member = await saveMember(draft, formId, Date.now());
  if (member === undefined)
    return { values, faults: { email: "There is an account with this address already." } };
  try {
    await issueCardTo(member, patienceMs);
  } catch (error) {
    if (isIssuingError(error) && error.code === "validation") {
      await forgetMember(member.id);
      const field = error instanceof ProblemError ? fieldAtFault(error.problem) : "form";
      return { values, faults: { [field]: error.userMessage } };
    }
    await putOff(member.id, error); // signed up all the same
  }
  await beginSession(member.id);
  redirect("/member");
}
