/** Stands for the code of a shop that stores balances: as a function, and as a provider of NestJS. */

export const saved: [cardId: string, balance: number][] = [];

export async function saveBalance(cardId: string, balance: number): Promise<void> {
  saved.push([cardId, balance]);
}

export class Balances {
  save: (cardId: string, balance: number) => Promise<void> = saveBalance;
}
