/** Stands for a provider of a shop that stores balances. */
export class Balances {
  saved: [cardId: string, balance: number][] = [];

  async save(cardId: string, balance: number): Promise<void> {
    this.saved.push([cardId, balance]);
  }
}
