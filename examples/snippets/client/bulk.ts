/** Issues a card to each member of a list. Run it again with the same list to resume it. */
// #region bulk
import type { IssuingClient } from "@loyalty-cards/issuing-client";
import { fileCheckpoint, issueCards } from "@loyalty-cards/issuing-client/bulk";

export interface Member {
  id: number;
  name: string;
  phone: string;
  privacyVersion: string; // of the privacy text that this member accepted
}

/** Adds what issueCards needs. The results have the same objects, so `member` is there again. */
async function* toRows(members: AsyncIterable<Member>) {
  for await (const member of members) {
    const { id, name, phone, privacyVersion } = member;
    const consents = { privacy: { version: privacyVersion } };
    yield { member, userId: id, request: { fieldValues: { name }, customer: { phone, name, consents } } };
  }
}

export async function issueToMembers(
  loyalty: IssuingClient,
  members: AsyncIterable<Member>,
  store: (member: Member, cardId: string) => Promise<void>,
  signal?: AbortSignal,
): Promise<Member[]> {
  const failed: Member[] = [];
  const results = issueCards(loyalty, toRows(members), {
    template: "tpl_coffee",
    description: "members, 2026-11",
    checkpoint: fileCheckpoint("members.checkpoint"),
    onProgress: ({ issued, perSecond }) => console.error(`${issued} cards, ${perSecond} per second`),
    signal,
  });
  for await (const result of results) {
    const { member } = result.row;
    if (result.status === "issued") await store(member, result.card.id);
    else if (result.status === "replayed") await store(member, result.cardId);
    else {
      console.error(`member ${member.id}: ${result.error.message}`);
      failed.push(member);
    }
  }
  return failed;
}
// #endregion
