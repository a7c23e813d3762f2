/** The shop's users. A real shop has a database here, and asks for a password before it shows a user. */

export interface User {
  /** Random: no other user table, and no earlier run of the shop, has the same. */
  id: string;
  name: string;
  /** May be blank. */
  email: string;
  /** May be blank. */
  phone: string;
  cardId?: string;
  /** Part of the idempotency key. It is new after each 422, so that a stored refusal does not apply to the corrected form. */
  keySuffix?: string;
}

export interface Form {
  name?: string;
  email?: string;
  phone?: string;
}

export interface Users {
  /**
   * Returns the user of this form, or saves a new one. A user is identified by e-mail, or by phone if the form has no e-mail; a form
   * with neither is always a new user.
   * @throws an error to which Express responds 400.
   */
  signUp(form: Form): Promise<User>;
  withCard(cardId: string): User | undefined;
  /** Also for a card that no user has yet: an event can arrive before the card's id is stored with the user. */
  saveBalance(cardId: string, balance: number): void;
  /** 0 until a balance is saved. */
  getBalance(cardId: string): number;
  all(): readonly User[];
}

export function createUsers(): Users {
  const users: User[] = [];
  const balances = new Map<string, number>(); // by card id
  return {
    async signUp({ name = "", email = "", phone = "" }) {
      if (email !== "" && !email.includes("@"))
        throw Object.assign(new Error("The e-mail address is not valid."), { status: 400 });
      const known = users.find((user) =>
        email === "" ? user.email === "" && phone !== "" && user.phone === phone : user.email === email,
      );
      if (known !== undefined) return known;
      const user: User = { id: crypto.randomUUID(), name, email, phone };
      users.push(user);
      return user;
    },
    withCard: (cardId) => users.find((user) => user.cardId === cardId),
    saveBalance: (cardId, balance) => void balances.set(cardId, balance),
    getBalance: (cardId) => balances.get(cardId) ?? 0,
    all: () => users,
  };
}
