/** The server actions: the sign-up form, and the member's page. */
"use server";
import { isIssuingError } from "@loyalty-cards/issuing-client";
import { revalidatePath } from "next/cache";
import { redirect } from "next/navigation";
import { loyalty } from "../shop/loyalty";
import {
  beginSession,
  currentMember,
  endSession,
  getCard,
  query,
} from "../shop/members";
import { consentVersions, type FormState, signUp } from "../shop/sign-up";

export async function join(_before: FormState, form: FormData): Promise<FormState> {
  const joined = await signUp(form);
  if ("state" in joined) return joined.state;
  await beginSession(joined);
  redirect("/member");
}

/** @returns the message to show when it failed. */
export async function changeNews(_before: string, form: FormData): Promise<string> {
  const member = await currentMember();
  const card = member && (await getCard(member.id));
  if (card === undefined)
    return "Please try again after your card has been issued.";
  const marketing = form.get("marketing") === "true";
  const change = { marketing, ...(marketing && { version: consentVersions.news }) };
  try {
    await loyalty().client.setConsent(card.id, change, { deadlineMs: 4_000 });
  } catch (error) {
    if (!isIssuingError(error)) throw error;
    console.error(error);
    const isUnknown = error.outcome === "unknown";
    const advice = isUnknown ? "Please try again." : "Nothing was changed.";
    return `${error.userMessage} ${advice}`;
  }
  // The event consent.changed follows.
  await query(
    "UPDATE cards SET consent = ? WHERE id = ?",
    Number(marketing),
    card.id,
  );
  revalidatePath("/member");
  return "";
}

export async function signOut(): Promise<void> {
  await endSession();
  redirect("/");
}
