/** The shop's own users. A real shop has a database here, and asks for a password before it says who somebody is. */

export interface User {
  /** Random: no other user table, and no earlier run of the shop, has the same. */
  id: string;
  name: string;
  email: string;
  cardId?: string;
  balance: number;
}

export interface Form {
  name?: string;
  email?: string;
  phone?: string;
}

export interface Users {
  /** The user of this form, saved now if there is none. @throws what Express answers with 400. */
  signUp(form: Form): Promise<User>;
  withCard(cardId: string): User | undefined;
}

export function createUsers(): Users {
  const users: User[] = [];
  return {
    async signUp({ name = "", email = "" }) {
      if (!email.includes("@"))
        throw Object.assign(new Error("The e-mail address is missing."), { status: 400 });
      const known = users.find((user) => user.email === email);
      if (known !== undefined) return known;
      const user: User = { id: crypto.randomUUID(), name, email, balance: 0 };
      users.push(user);
      return user;
    },
    withCard: (cardId) => users.find((user) => user.cardId === cardId),
  };
}
