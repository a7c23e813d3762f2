/** Stands for the code of a shop that stores balances. */

export const saved: [cardId: string, balance: number][] = [];

export async function saveBalance(cardId: string, balance: number): Promise<void> {
  saved.push([cardId, balance]);
}
