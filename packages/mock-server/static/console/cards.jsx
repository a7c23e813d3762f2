/** The cards with their customers: search, and a form that issues a card to a test member. */

import { formatNumber } from "@loyalty-cards/internal/format";
import { useState } from "preact/hooks";
import { address, callAsWebsite, get, readAddress } from "./api.js";
import { Card } from "./card.jsx";
import { Form, Head, More, pageSize } from "./controls.jsx";
import { formatDayTime, formatWallet } from "./format.js";
import { useReturnedFocus } from "./keys.jsx";
import { useAddress, useReading } from "./polling.jsx";
import { Found, NothingFound, Search } from "./search.jsx";

/**
 * The list stays as it was while a card is open.
 * @param id that of the open card; empty for the list.
 */
export function Cards({ id }) {
  const { query = "" } = useAddress().parameters;
  const [limit, setLimit] = useState(pageSize);
  // A list stays until the next one is read: it is empty because of its own words.
  const cards = useReading(
    async () => ({ ...(await get("cards", { query, limit })), words: query }),
    query,
    limit,
  );
  const templates = useReading(() => get("templates"))?.items;
  useReturnedFocus(id);
  if (id !== "") return <Card id={id} key={id} />;
  if (cards?.error) return <p class="note">{cards.error}</p>;
  if (cards === undefined || templates === undefined) return null;
  // The address keeps the words of the search, so that the list has them when the card is closed.
  const toAddress = (cardId) => address(["cards", cardId], readAddress().parameters);
  const { items, total, words } = cards;
  const isEmpty = total === 0 && words === "";
  return (
    <section class="list" aria-label="Cards">
      <div class="filters">
        {isEmpty ? (
          <p>No cards yet: your app or the button issues one.</p>
        ) : (
          <>
            <Search
              label="Name, phone, email, id"
              find={(query) => get("cards", { query, limit: 1 })}
              toAddress={toAddress}
            />
            <span class="count">
              {formatNumber(total)} {total === 1 ? "card" : "cards"}
            </span>
          </>
        )}
        <IssueForm templates={templates.filter(({ isArchived }) => !isArchived)} />
      </div>
      <ol class="rows cards">
        {total > 0 && <Head names={columns} />}
        {items.map((card) => (
          <CardRow key={card.id} card={card} href={toAddress(card.id)} />
        ))}
      </ol>
      <More shown={items.length} total={total} limit={limit} setLimit={setLimit} />
      {total === 0 && !isEmpty && <NothingFound filters={[`“${words}”`]} />}
    </section>
  );
}

const columns = {
  name: "Name",
  contact: "Phone or email",
  id: "Card",
  points: "Points",
  tier: "Tier",
  wallets: "Wallets",
  time: "Issued",
};

function CardRow({ card, href }) {
  const { id, customer, loyaltyBalance, loyaltyTier, wallets, issuedAt, found } = card;
  const { holder = "Unnamed customer" } = card;
  const contact = customer.phone ?? customer.email;
  return (
    <li>
      <a class="row" id={id} href={href}>
        <strong class="name">{holder}</strong>
        <span class="contact">{contact === holder ? "" : contact}</span>
        <span class="id">{id}</span>
        <span class="points">{formatNumber(loyaltyBalance)}</span>
        <span class="tier">{loyaltyTier ?? "Member"}</span>
        <span class="wallets">{wallets.map(formatWallet).join(", ")}</span>
        <time dateTime={issuedAt}>{formatDayTime(issuedAt)}</time>
        {found && <Found {...found} />}
      </a>
    </li>
  );
}

const firstNames = "Anna Ben Carla David Ewa Farid Greta Hugo Ines Jan".split(" ");
const lastNames = "Nowak Carter Rossi Meyer Wójcik Haddad Olsen Blanc Costa".split(" ");
const choose = (list) => list[Math.floor(Math.random() * list.length)];

/**
 * A request that issues a card to a test member.
 * @param name default: an invented one.
 */
export function inventMember({ fields }, name = "") {
  const holder = name || `${choose(firstNames)} ${choose(lastNames)}`;
  const digits = String(Math.random()).slice(2, 8);
  const values = { name: holder, text: "Test", number: 1 };
  const needed = fields.filter(({ type, required }) => required || type === "name");
  return {
    fieldValues: Object.fromEntries(needed.map(({ key, type }) => [key, values[type]])),
    customer: {
      name: holder,
      phone: `+48600${digits}`,
      email: `member.${digits}@example.com`,
      consents: { privacy: { version: "console" }, marketing: {} },
    },
  };
}

/** Issues a card as a website does, so that the request is in the traffic. */
export function IssueForm({ templates }) {
  async function issue(values, say) {
    const template = templates.find(({ id }) => id === values.get("template")) ?? templates[0];
    const path = `templates/${encodeURIComponent(template.id)}/passes`;
    const request = inventMember(template, values.get("holder").trim());
    const card = await callAsWebsite("POST", path, request);
    location.hash = address(["cards", card.id]);
    say(`Issued a card to ${request.customer.name}.`);
  }
  return (
    templates.length > 0 && (
      <Form label="Issue a test card" run={issue} isPrimary>
        <input name="holder" aria-label="Name on the card" placeholder="Name (optional)" />
        {templates.length > 1 && (
          <select name="template" aria-label="Template">
            {templates.map(({ id, name }) => (
              <option value={id}>{name}</option>
            ))}
          </select>
        )}
      </Form>
    )
  );
}
