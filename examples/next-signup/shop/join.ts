/** The sign-up without its web page: saves the member, issues the card, and never fails because loyalty does. */
import { isIssuingError } from "@loyalty-cards/issuing-client";
import { putOff } from "./cards-later";
import { issueCardTo } from "./issue-card";
import { awaitCorrection, type Member, saveMember } from "./members";
import { type FormState, readForm, rejectedField } from "./sign-up-form";

/** The longest that a sign-up waits for the card; after that the card is issued later. */
const deadlineMs = 4_000;

/** @returns the member; or the form again, with what has to be corrected. */
export async function join(form: FormData): Promise<{ member: Member } | { state: FormState }> {
  const { values, faults, draft, formId } = readForm(form);
  if (Object.keys(faults).length > 0) return { state: { values, faults } };

  const member = await saveMember(draft, formId, Date.now());
  if (member === undefined)
    return { state: { values, faults: { email: "There is an account with this address already." } } };
  try {
    await issueCardTo(member, deadlineMs);
  } catch (error) {
    if (isIssuingError(error) && error.code === "validation") {
      await awaitCorrection(member.id);
      return { state: { values, faults: { [rejectedField(error.fields)]: error.userMessage } } };
    }
    await putOff(member.id, error); // signed up; the card is issued later
  }
  return { member };
}
