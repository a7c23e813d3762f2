/** The sign-up without its web page: saves the member, issues the card, and never fails because the loyalty service fails. */
import { isIssuingError } from "@loyalty-cards/issuing-client";
import { postpone } from "./cards-later";
import { issueCardTo } from "./issue-card";
import { awaitCorrection, type Member, saveMember } from "./members";
import { type FormState, readForm, rejectedField } from "./sign-up-form";

/** The longest that a sign-up waits for the card; after that the card is issued later. */
const deadlineMs = 4_000;

/** @returns the member, or the form with its errors. */
export async function join(form: FormData): Promise<{ member: Member } | { state: FormState }> {
  const { values, errors, draft, formId } = readForm(form);
  if (Object.keys(errors).length > 0) return { state: { values, errors } };

  const member = await saveMember(draft, formId, Date.now());
  if (member === undefined)
    return { state: { values, errors: { email: "There is an account with this address already." } } };
  try {
    await issueCardTo(member, deadlineMs);
  } catch (error) {
    if (isIssuingError(error) && error.code === "validation") {
      await awaitCorrection(member.id);
      return { state: { values, errors: { [rejectedField(error.fields)]: error.userMessage } } };
    }
    await postpone(member.id, error); // signed up; the card is issued later
  }
  return { member };
}
