/** The shop's own users. A real shop has a database here. */

export interface User {
  id: number;
  name: string;
  email: string;
  cardId?: string;
  balance: number;
}

export interface Users {
  /** The user with this e-mail, saved now if there is none. */
  findOrCreate(details: { name: string; email: string }): User;
  withCard(cardId: string): User | undefined;
}

export function createUsers(): Users {
  const users: User[] = [];
  return {
    findOrCreate({ name, email }) {
      const known = users.find((user) => user.email === email);
      if (known !== undefined) return known;
      const user: User = { id: users.length + 1, name, email, balance: 0 };
      users.push(user);
      return user;
    },
    withCard: (cardId) => users.find((user) => user.cardId === cardId),
  };
}
