/** Generated from openapi.yaml by `npm run generate`. Do not edit. */

/** A digital loyalty card of one customer ([spec 2.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-1)). */
export interface Card {
    /** Identifier of the card. Store it with your user ([spec 2.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-1)). */
    id: string;
    /** URL of the public card page, and target of the QR code ([spec 2.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-1)). */
    publicUrl: string;
    /** The state of the card; `active` for a new card ([spec 3.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-3-1)). */
    status: "active" | (string & {});
    /** Identifier of the customer ([spec 2.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-1)). */
    customerId: string;
    /** The current balance in points or stamps; 0 for a new card ([spec 2.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-1)). */
    loyaltyBalance: number;
    /** The name of the current tier; null for a new card ([spec 2.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-1)). */
    loyaltyTier: string | null;
    /** `website` when the card was issued with a Website key ([spec 2.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-1)). */
    issuedVia: "website" | "api" | (string & {});
    /** Map from a field key of the template to its value ([spec 2.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-1)). */
    fieldValues: FieldValues;
}
/** Map from a field key of the template to its value ([spec 2.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-1)). */
export interface FieldValues {
    [key: string]: string | number;
}
/** The customer, and the field values of the card ([spec 4.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-1)). */
export interface IssueCardRequest {
    /** Map from a field key of the template to its value ([spec 2.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-1)). */
    fieldValues?: FieldValues | undefined;
    /** The customer, matched by phone, then by email ([spec 2.3](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-3)). */
    customer: Customer;
}
/** The customer, matched by phone, then by email ([spec 2.3](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-3)). */
export interface Customer {
    /** In E.164 or local format ([spec 2.3](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-3)). */
    phone?: string | undefined;
    /** Matches the customer if no phone matches ([spec 2.3](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-3)). */
    email?: string | undefined;
    /** The customer's name ([spec 2.3](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-3)). */
    name?: string | undefined;
    /** The consents given at sign-up ([spec 2.4](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-4)). */
    consents: Consents;
}
/** The consents given at sign-up ([spec 2.4](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-4)). */
export interface Consents {
    /** The privacy text that the customer accepted ([spec 2.4](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-4)). */
    privacy: {
        /** Version label of that text; not blank ([spec 2.4](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-4)). */
        version: string;
    };
    /** Present only if the customer opted in to marketing; may be empty ([spec 2.4](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-4)). */
    marketing?: {
        /** Version label of the marketing text ([spec 2.4](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-4)). */
        version?: string | undefined;
    } | undefined;
}
/** An entry in the history of a card ([spec 2.5](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-5)). */
export interface Operation {
    /** Identifier of the operation ([spec 2.5](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-5)). */
    id: string;
    /** Why the balance changed ([spec 2.5](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-5)). */
    type: OperationType;
    /** Signed change of the balance, in points or stamps. Absent if the service does not send it ([spec 2.5](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-5)). */
    change?: number | undefined;
    /** Balance after the operation, in points or stamps. Absent if the service does not send it ([spec 2.5](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-5)). */
    balance?: number | undefined;
    /** Time of the operation, as the service sent it. Absent if the service does not send it ([spec 2.5](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-5)). */
    createdAt?: string | undefined;
}
/** Why the balance changed ([spec 2.5](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-5)). */
export type OperationType = "purchase" | "redemption" | "reward" | "correction" | "cancellation" | (string & {});
/** Operations of a card, newest first ([spec 4.3](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-3)). */
export interface OperationList {
    /** The newest operations, newest first ([spec 4.3](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-3)). */
    items: Operation[];
}
/** The marketing consent of a customer ([spec 2.6](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-6)). */
export interface ConsentState {
    /** The customer ([spec 2.6](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-6)). */
    customer: Record<string, unknown>;
    /** Whether the customer agreed to marketing; false if withdrawn or never given ([spec 2.6](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-6)). */
    marketingConsent: boolean;
}
/** A change of the marketing consent ([spec 4.5](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-5)). */
export interface ConsentChange {
    /** true gives, false withdraws ([spec 4.5](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-5)). */
    marketing: boolean;
    /** Version label of the consent text, if known ([spec 4.5](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-5)). */
    version?: string | undefined;
}
/** A card was added to a wallet ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
export interface CardAdded {
    /** The same in every delivery of the event. Use it for deduplication ([spec 6.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-1)). */
    id: string;
    /**
     * The event type ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)).
     * @constant
     */
    type: "card.added";
    /** Time of the event: ISO 8601, UTC with milliseconds ([spec 6.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-1)). */
    createdAt: string;
    /** The card and the wallet ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
    data: WalletChange;
}
/** A card was removed from a wallet ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
export interface CardRemoved {
    /** The same in every delivery of the event. Use it for deduplication ([spec 6.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-1)). */
    id: string;
    /**
     * The event type ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)).
     * @constant
     */
    type: "card.removed";
    /** Time of the event: ISO 8601, UTC with milliseconds ([spec 6.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-1)). */
    createdAt: string;
    /** The card and the wallet ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
    data: WalletChange;
}
/** The card and the wallet ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
export interface WalletChange {
    /** Identifier of the card ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
    passId: string;
    /** Identifier of the customer ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
    customerId?: unknown;
    /** The wallet; the mock service sends `apple` or `google`. The values are not specified, so any JSON value is possible ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
    wallet?: unknown;
}
/** Points or stamps changed. Use `data.balance`, and never add up `data.change` ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2), [6.3.4](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-3-4)). */
export interface BalanceChanged {
    /** The same in every delivery of the event. Use it for deduplication ([spec 6.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-1)). */
    id: string;
    /**
     * The event type ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)).
     * @constant
     */
    type: "balance.changed";
    /** Time of the event: ISO 8601, UTC with milliseconds ([spec 6.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-1)). */
    createdAt: string;
    /** The new balance and its cause ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
    data: {
        /** Identifier of the card ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
        passId: string;
        /** Identifier of the customer ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
        customerId?: unknown;
        /** The new balance, in points or stamps ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
        balance: number;
        /** Signed change of the balance, in points or stamps ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
        change?: unknown;
        /** The operation that changed the balance ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
        operation?: ({
            /** Identifier of the operation ([spec 2.5](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-5)). */
            id?: unknown;
            /** Why the balance changed ([spec 2.5](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-5)). */
            type?: unknown;
        } | null) | undefined;
    };
}
/** The card reached another tier ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
export interface TierChanged {
    /** The same in every delivery of the event. Use it for deduplication ([spec 6.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-1)). */
    id: string;
    /**
     * The event type ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)).
     * @constant
     */
    type: "tier.changed";
    /** Time of the event: ISO 8601, UTC with milliseconds ([spec 6.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-1)). */
    createdAt: string;
    /** The new tier and the previous one ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
    data: {
        /** Identifier of the card ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
        passId: string;
        /** Identifier of the customer ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
        customerId?: unknown;
        /** The new tier; the mock service sends its name or null. The format is not specified ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
        tier?: unknown;
        /** The previous tier; the mock service sends its name or null. The format is not specified ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
        previous?: unknown;
    };
}
/** The marketing consent was given or withdrawn ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
export interface ConsentChanged {
    /** The same in every delivery of the event. Use it for deduplication ([spec 6.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-1)). */
    id: string;
    /**
     * The event type ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)).
     * @constant
     */
    type: "consent.changed";
    /** Time of the event: ISO 8601, UTC with milliseconds ([spec 6.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-1)). */
    createdAt: string;
    /** The current consent ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
    data: {
        /** Identifier of the customer ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
        customerId?: unknown;
        /** true if given, false if withdrawn. The format is not specified, so compare with `=== true` ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
        marketingConsent?: unknown;
        /** All cards of the customer ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
        passIds: string[];
    };
}
/** A test sent from the console ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
export interface Ping {
    /** The same in every delivery of the event. Use it for deduplication ([spec 6.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-1)). */
    id: string;
    /**
     * The event type ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)).
     * @constant
     */
    type: "ping";
    /** Time of the event: ISO 8601, UTC with milliseconds ([spec 6.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-1)). */
    createdAt: string;
    /** Not specified, so any JSON value is possible, or none ([spec 6.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-2)). */
    data?: unknown;
}
/** RFC 9457 problem details ([spec 7](https://loyalty-cards.github.io/loyalty-cards/specification#spec-7)). */
export interface Problem {
    /** Identifies the kind of problem ([spec 7](https://loyalty-cards.github.io/loyalty-cards/specification#spec-7)). */
    type: string;
    /** A short summary of the kind of problem ([spec 7](https://loyalty-cards.github.io/loyalty-cards/specification#spec-7)). */
    title: string;
    /** The HTTP status ([spec 7](https://loyalty-cards.github.io/loyalty-cards/specification#spec-7)). */
    status: number;
    /** Details of this problem. The detail of a 422 can be shown to the user ([spec 7](https://loyalty-cards.github.io/loyalty-cards/specification#spec-7)). */
    detail: string;
    /** The rejected values, if the service lists them ([spec 7](https://loyalty-cards.github.io/loyalty-cards/specification#spec-7)). */
    errors?: {
        /** JSON Pointer into the request body ([spec 7](https://loyalty-cards.github.io/loyalty-cards/specification#spec-7)). */
        pointer: string;
        /** What is wrong with the value ([spec 7](https://loyalty-cards.github.io/loyalty-cards/specification#spec-7)). */
        detail: string;
    }[] | undefined;
}
