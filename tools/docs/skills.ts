/**
 * Skills for coding agents, in the tarballs: each is assembled from the parts of the guides between `<!-- skill NAME: HEADING -->` and
 * `<!-- end skill -->`, and one program of the examples.
 */
import { basename } from "node:path";
import { readTitle, site, toPage } from "../../docs/.vitepress/pages.ts";
import { linkPages, outsideOfCode, quote, withoutComments } from "./excerpts.ts";
import { readFromRoot } from "./snippets.ts";

interface Skill {
  title: string;
  /** When an agent should read it. */
  description: string;
  /** As `file#region`. */
  example: string;
  /** Guides with marked parts, in the order of these parts under a heading. */
  guides: readonly string[];
}

export const skills = {
  "loyalty-cards-sign-up": {
    title: "Issue a loyalty card at sign-up",
    description:
      "Issues a loyalty card to a user who signs up, with @loyalty-cards/issuing-outbox and @loyalty-cards/issuing-client. Use it when you add loyalty cards to a sign-up or registration form, or change code that calls outbox.add, outbox.issue or issueCard.",
    example: "examples/snippets/outbox/one-machine.ts#one-machine",
    guides: ["sign-up", "getting-started", "testing"],
  },
  "loyalty-cards-receiver": {
    title: "Receive webhooks of the loyalty card service",
    description:
      "Receives signed webhooks of the Loyalty Card Issuing Service with @loyalty-cards/webhook-verify. Use it when you add or change a webhook route for balances, tiers, consents or wallets, or when deliveries are rejected with 401.",
    example: "examples/snippets/receivers/next-route.ts#next",
    guides: ["receiving-webhooks"],
  },
  "loyalty-cards-tests": {
    title: "Test an integration of loyalty cards",
    description:
      "Tests a sign-up or a webhook receiver against @loyalty-cards/mock-server. Use it when you write or repair tests of code that issues loyalty cards or receives their webhooks.",
    example: "examples/testing/sign-up.test.ts#test-with-mock",
    guides: ["testing"],
  },
} satisfies Record<string, Skill>;

export type SkillName = keyof typeof skills;

/** The headings in their order. */
const headings = ["Steps", "Example", "Rules", "Environment", "Tests"];

/** @returns the content of `SKILL.md`. @throws for a heading that is not in the list. */
export function createSkill(name: SkillName): string {
  const { title, description, example, guides }: Skill = skills[name];
  const parts = new Map(headings.map((heading) => [heading, [] as string[]]));
  parts.get("Example")?.push(quote(example));
  for (const guide of guides) {
    const file = `docs/guides/${guide}.md`;
    for (const { heading, text } of readParts(name, readFromRoot(file))) {
      const own = parts.get(heading);
      if (own === undefined) throw new Error(`${file} marks a part of ${name} with "${heading}".`);
      const withPage = text.replaceAll("](#", `](${basename(file)}#`);
      own.push(unwrap(linkPages(withoutComments(withPage), file, new Map()).trim()));
    }
  }
  const sections = [...parts].filter(([, texts]) => texts.length > 0);
  const toLink = (guide: string) => {
    const file = `docs/guides/${guide}.md`;
    return `[${readTitle(file)}](${site}/${toPage(file).replace(/\.md$/, "")})`;
  };
  return [
    `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\n---`,
    `# ${title}`,
    ...sections.flatMap(([heading, texts]) => [`## ${heading}`, joinParts(texts)]),
    `Guides: ${guides.map(toLink).join(", ")}.`,
  ]
    .join("\n\n")
    .concat("\n");
}

/** Joins the lines of a paragraph or list item. */
const unwrap = (page: string) =>
  outsideOfCode(page, (text) => text.replace(/(?<=[^\n|])\n(?: {2})?(?=[A-Za-z`*[(])/g, " "));

/** Parts that are one paragraph each become a list. */
const joinParts = (texts: readonly string[]) =>
  texts.length > 1 && texts.every((text) => !text.includes("\n"))
    ? texts.map((text) => `- ${text}`).join("\n")
    : texts.join("\n\n");

/** The marked parts of a page. A part can belong to several skills. */
function readParts(name: string, page: string): { heading: string; text: string }[] {
  return [...page.matchAll(/^<!-- skill ([\w -]+): (\w+) -->\n([\s\S]*?)^<!-- end skill -->$/gm)].flatMap(
    ([, names = "", heading = "", text = ""]) =>
      names.split(" ").some((each) => `loyalty-cards-${each}` === name) ? [{ heading, text }] : [],
  );
}
