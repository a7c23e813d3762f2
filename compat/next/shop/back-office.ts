/** The shop's back office: another process, which hears what became of the events. */

export async function saveBalance(cardId: string, balance: number): Promise<void> {
  await tell("saved", { cardId, balance });
}

/** Takes as long as the back office likes. */
export async function thank(cardId: string): Promise<void> {
  await tell("thanking", { cardId });
  await tell("thanked", { cardId });
}

async function tell(what: string, facts: object): Promise<void> {
  const body = JSON.stringify(facts);
  await fetch(`${process.env.BACK_OFFICE_URL}/${what}`, { method: "POST", body });
}
