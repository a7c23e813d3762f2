/** The data of a card's page. It contains no identifiers of the customer and no contact data. */
import { type CardStore, getLevelPoints, type StoredCard, toCard } from "../domain/cards.ts";
import type { Domain } from "../domain/context.ts";
import type { CustomerStore } from "../domain/customers.ts";
import type { Template, TemplateStore } from "../domain/templates.ts";

/** The stores that the pages read. */
export type Shop = Domain<CardStore & CustomerStore & TemplateStore>;

export interface CardView {
  id: string;
  slug: string;
  publicUrl: string;
  shopName: string;
  holder?: string;
  balance: number;
  tier: string | null;
  nextTier?: { name: string; missing: number; from: number; progressFrom: number };
  /** The wallets that the card was added to. */
  wallets: readonly string[];
  templateId: string;
}

/** The backgrounds of cards: where the gradient starts, and where it ends. White text is readable on each. */
const colours = [
  ["#14807a", "#123a4d"],
  ["#4338a5", "#262060"],
  ["#a03353", "#5d1c31"],
  ["#2b5cae", "#173463"],
  ["#8a4a24", "#4d2610"],
  ["#6a2fae", "#3b155f"],
] as const;

export function cardView(shop: Shop, card: StoredCard): CardView {
  const template = shop.state.templates.get(card.templateId) as Template; // templates are archived, never removed
  const holder = getHolder(shop, template, card);
  const nextTier = getNextTier(template, getLevelPoints(card));
  return {
    id: card.id,
    slug: card.slug,
    publicUrl: toCard(shop, card).publicUrl,
    shopName: template.name,
    ...(holder !== undefined && { holder }),
    balance: card.balance,
    tier: card.tier,
    ...(nextTier !== undefined && { nextTier }),
    wallets: card.wallets,
    templateId: template.id,
  };
}

/** The name in the card's fields, or else the customer's name. */
function getHolder({ state }: Shop, { fields }: Template, card: StoredCard): string | undefined {
  const key = fields.find(({ type }) => type === "name")?.key;
  const onCard =
    key !== undefined && Object.hasOwn(card.fieldValues, key) ? card.fieldValues[key] : undefined;
  return onCard === undefined ? state.customers.get(card.customerId)?.name : String(onCard);
}

function getNextTier({ tiers }: Template, points: number): CardView["nextTier"] {
  const next = tiers.find(({ from }) => from > points);
  if (next === undefined) return undefined;
  const reached = tiers.findLast(({ from }) => from <= points);
  const missing = Math.round((next.from - points) * 1e6) / 1e6;
  return { name: next.name, from: next.from, missing, progressFrom: reached?.from ?? Math.min(0, next.from) };
}

/** The same colours for all cards of a template. */
export function selectColours(templateId: string): (typeof colours)[number] {
  let sum = 0;
  for (const character of templateId) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 1_000_003;
  return colours[sum % colours.length] as (typeof colours)[number];
}
