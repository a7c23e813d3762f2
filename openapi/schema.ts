/** Generated from openapi.yaml by `npm run generate`. Do not edit. */

export interface paths {
    "/templates/{templateId}/passes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Issue a card; finds or creates the customer
         * Finds the customer by phone, then by e-mail, or creates one; issues a card from the template; records the privacy consent and, if given, the marketing consent. Sent again with the same `Idempotency-Key` within 24 hours it answers the same card with 201 and creates nothing. After a 5xx or a lost answer, repeat it with the same key.
         */
        post: operations["issueCard"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/passes/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a card with balance and level
         * Answers the card as it is now.
         */
        get: operations["getCard"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/passes/{id}/operations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Purchases and points history, newest first
         * Answers the newest operations of the card.
         */
        get: operations["listOperations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/passes/{id}/consent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read news-and-offers consent
         * Answers the marketing consent of the card's holder.
         */
        get: operations["getConsent"];
        /**
         * Give or withdraw news-and-offers consent
         * Gives or withdraws the marketing consent of the card's holder. A change emits `consent.changed`; setting what already holds changes nothing and emits nothing.
         */
        put: operations["setConsent"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface webhooks {
    "card.added": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A card was added to a wallet
         * Sent when a card is added to a wallet of either kind.
         */
        post: operations["onCardAdded"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "card.removed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A card was removed from a wallet
         * Sent when a card is removed from a wallet.
         */
        post: operations["onCardRemoved"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "balance.changed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Points or stamps changed
         * Sent after a purchase, redemption, reward, correction or cancellation. Deliveries may arrive twice and in any order: use `balance`, never a sum of `change`.
         */
        post: operations["onBalanceChanged"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "tier.changed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * The card moved to another level
         * Sent when the level changes, also when old purchases expire.
         */
        post: operations["onTierChanged"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "consent.changed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * News-and-offers consent was given or withdrawn
         * Sent when a customer's marketing consent changes, with all cards of that customer.
         */
        post: operations["onConsentChanged"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    ping: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A test was sent from the console
         * Sent by "Send test" in the console, signed like every other event.
         */
        post: operations["onPing"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface components {
    schemas: {
        /** A digital loyalty card of one customer. */
        Card: {
            /** Identifier of the card. Store it with your user. */
            id: string;
            /**
             * Format: uri
             * Address of the public card page, and target of the QR code.
             */
            publicUrl: string;
            /** The state of the card; `active` on a newly issued one. */
            status: "active" | (string & {});
            /** Identifier of the customer the card belongs to. */
            customerId: string;
            /** The current balance in points or stamps; 0 on a newly issued card. */
            loyaltyBalance: number;
            /** The name of the current level; null on a newly issued card. */
            loyaltyTier: string | null;
            /** `website` when the card was issued with a Website key. */
            issuedVia: "website" | "api" | (string & {});
            fieldValues: components["schemas"]["FieldValues"];
        };
        /** Map from a field key of the template to its value. */
        FieldValues: {
            [key: string]: string | number;
        };
        /** Whom to issue a card to, and what to write on it. */
        IssueCardRequest: {
            fieldValues?: components["schemas"]["FieldValues"];
            customer: components["schemas"]["Customer"];
        };
        /** The customer, identified by phone first, then by e-mail. */
        Customer: {
            /** In E.164 or local format. */
            phone?: string;
            /** Identifies the customer when no phone matches. */
            email?: string;
            /** The customer's name. */
            name?: string;
            consents: components["schemas"]["Consents"];
        };
        /** What the customer agreed to while signing up. */
        Consents: {
            /** The privacy text the customer accepted. */
            privacy: {
                /** Version label of that text; not blank. */
                version: string;
            };
            /** Present only if the customer opted in to news and offers; may be empty. */
            marketing?: {
                /** Version label of the marketing text. */
                version?: string;
            };
        };
        /** One entry of a card's history. */
        Operation: {
            /** Identifier of the operation. */
            id: string;
            type: components["schemas"]["OperationType"];
            /** Signed difference to the balance, in points or stamps. Absent when the service does not send it. */
            change?: number;
            /** Balance after the operation, in points or stamps. Absent when the service does not send it. */
            balance?: number;
            /**
             * Format: date-time
             * When it happened, as the service wrote it. Absent when the service does not send it.
             */
            createdAt?: string;
        };
        /** Why the balance changed. */
        OperationType: "purchase" | "redemption" | "reward" | "correction" | "cancellation" | (string & {});
        /** Operations of a card, newest first. */
        OperationList: {
            /** The newest operations, newest first. */
            items: components["schemas"]["Operation"][];
        };
        /** The news-and-offers consent of a card holder. */
        ConsentState: {
            /** The card holder. */
            customer: {
                [key: string]: unknown;
            };
            /** Whether news and offers may be sent; false when withdrawn or never given. */
            marketingConsent: boolean;
        };
        /** A change of the news-and-offers consent. */
        ConsentChange: {
            /** true gives, false withdraws. */
            marketing: boolean;
            /** Version label of the consent text, sent only when known. */
            version?: string;
        };
        /** A card was added to a wallet. */
        CardAddedEvent: {
            /** Identical across repeated deliveries of the same event; deduplicate by it. */
            id: string;
            /**
             * The event type.
             * @constant
             */
            type: "card.added";
            /**
             * Format: date-time
             * When it happened: ISO 8601, UTC with milliseconds.
             */
            createdAt: string;
            data: components["schemas"]["WalletChange"];
        };
        /** A card was removed from a wallet. */
        CardRemovedEvent: {
            /** Identical across repeated deliveries of the same event; deduplicate by it. */
            id: string;
            /**
             * The event type.
             * @constant
             */
            type: "card.removed";
            /**
             * Format: date-time
             * When it happened: ISO 8601, UTC with milliseconds.
             */
            createdAt: string;
            data: components["schemas"]["WalletChange"];
        };
        /** Which card, and which wallet. */
        WalletChange: {
            /** Identifier of the card. */
            passId: string;
            /** Identifier of its customer. */
            customerId: string;
            /** Which wallet kind; the mock service sends `apple` and `google`. Its values are not specified, so any JSON value may come. */
            wallet?: unknown;
        };
        /** Points or stamps changed. */
        BalanceChangedEvent: {
            /** Identical across repeated deliveries of the same event; deduplicate by it. */
            id: string;
            /**
             * The event type.
             * @constant
             */
            type: "balance.changed";
            /**
             * Format: date-time
             * When it happened: ISO 8601, UTC with milliseconds.
             */
            createdAt: string;
            /** The new balance and why. */
            data: {
                /** Identifier of the card. */
                passId: string;
                /** Identifier of its customer. */
                customerId: string;
                /** The new balance, in points or stamps. */
                balance: number;
                /** Signed difference to the balance before, in points or stamps. */
                change: number;
                /** The operation that changed it. */
                operation: {
                    /** Identifier of the operation. */
                    id: string;
                    type: components["schemas"]["OperationType"];
                };
            };
        };
        /** The card moved to another level. */
        TierChangedEvent: {
            /** Identical across repeated deliveries of the same event; deduplicate by it. */
            id: string;
            /**
             * The event type.
             * @constant
             */
            type: "tier.changed";
            /**
             * Format: date-time
             * When it happened: ISO 8601, UTC with milliseconds.
             */
            createdAt: string;
            /** The new level and the one before. */
            data: {
                /** Identifier of the card. */
                passId: string;
                /** Identifier of its customer. */
                customerId: string;
                /** The new level; the mock service sends its name, or null when below all levels. Its form is not specified, so any JSON value may come. */
                tier?: unknown;
                /** The level before; the mock service sends its name, or null when there was none. Any JSON value may come. */
                previous?: unknown;
            };
        };
        /** News-and-offers consent was given or withdrawn. */
        ConsentChangedEvent: {
            /** Identical across repeated deliveries of the same event; deduplicate by it. */
            id: string;
            /**
             * The event type.
             * @constant
             */
            type: "consent.changed";
            /**
             * Format: date-time
             * When it happened: ISO 8601, UTC with milliseconds.
             */
            createdAt: string;
            /** The consent as it is now. */
            data: {
                /** Identifier of the customer. */
                customerId: string;
                /** true when given, false when withdrawn. Its form is not specified, so compare with `=== true`. */
                marketingConsent?: unknown;
                /** All cards of the customer. */
                passIds: string[];
            };
        };
        /** A test sent from the console. */
        PingEvent: {
            /** Identical across repeated deliveries of the same event; deduplicate by it. */
            id: string;
            /**
             * The event type.
             * @constant
             */
            type: "ping";
            /**
             * Format: date-time
             * When it happened: ISO 8601, UTC with milliseconds.
             */
            createdAt: string;
            /** Not specified, so any JSON value may come, or none. */
            data?: unknown;
        };
        /** RFC 9457 problem details. */
        Problem: {
            /**
             * Format: uri-reference
             * Names the kind of problem.
             */
            type: string;
            /** A short summary of the kind. */
            title: string;
            /** The HTTP status. */
            status: number;
            /** What happened this time. Of a 422 it is suitable to show to the user. */
            detail: string;
            /** The members at fault, where the service tells them. */
            errors?: {
                /** JSON Pointer into the request body. */
                pointer: string;
                /** What is wrong with it. */
                detail: string;
            }[];
        };
    };
    responses: {
        /** The request could not be read. */
        BadRequest: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** The API key is missing or unknown. */
        Unauthorized: {
            headers: {
                /**
                 * Always `Bearer`.
                 * @example Bearer
                 */
                "WWW-Authenticate"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** The template id is wrong or the template is archived. */
        TemplateNotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** There is no card with this id. */
        CardNotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** The body is larger than the service takes. */
        BodyTooLarge: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** The body is not `application/json`. */
        UnsupportedMediaType: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** A required value is missing, or a phone or e-mail is malformed. `detail` may be shown to the user. */
        Invalid: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** Too many requests; wait and send it again. */
        TooManyRequests: {
            headers: {
                /**
                 * Seconds to wait, or the date to wait for.
                 * @example 2
                 */
                "Retry-After"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** A temporary fault. Send the request again with the same idempotency key. */
        Temporary: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** Taken over by the receiver; it is not delivered again. */
        Received: {
            headers: {
                [name: string]: unknown;
            };
            content?: never;
        };
        /** Not taken over; it is delivered again after the next pause. */
        NotReceived: {
            headers: {
                [name: string]: unknown;
            };
            content?: never;
        };
    };
    parameters: {
        /**
         * Identifier of the template to issue from.
         * @example tpl_coffee
         */
        TemplateId: string;
        /**
         * Identifier of the card, as answered when it was issued.
         * @example card_8sT2kq
         */
        CardId: string;
        /**
         * The same key within 24 hours answers the same card. Derive it from your own user id, so that a retry after a crash carries the same key.
         * @example lc1_pW9m3hBvS6c0d5hVZ0k8o7r0Yc1uQxqYd3aVgqk1T2E
         */
        IdempotencyKey: string;
        /**
         * How many operations to answer, 20 when absent. More than 100 is answered as 100.
         * @example 20
         */
        Limit: number;
        /**
         * The event type. Not covered by the signature, so decide on `type` of the body instead.
         * @example balance.changed
         */
        ServiceEvent: string;
        /**
         * Identifies the delivery. Not covered by the signature, so deduplicate on `id` of the body.
         * @example dlv_3Zk0aP
         */
        ServiceDelivery: string;
        /**
         * `t` is the unix time in seconds; `v1` is the hex HMAC-SHA256 under the signing secret of `t`, a period and the unmodified body. Refuse a `t` more than 300 seconds away from now.
         * @example t=1767225600,v1=5f1c3c6b1d0f0b1a7c2f9f5f6f4a7d8e9b0c1d2e3f405162738495a6b7c8d9e0
         */
        ServiceSignature: string;
    };
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    issueCard: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * The same key within 24 hours answers the same card. Derive it from your own user id, so that a retry after a crash carries the same key.
                 * @example lc1_pW9m3hBvS6c0d5hVZ0k8o7r0Yc1uQxqYd3aVgqk1T2E
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * Identifier of the template to issue from.
                 * @example tpl_coffee
                 */
                templateId: components["parameters"]["TemplateId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["IssueCardRequest"];
            };
        };
        responses: {
            /** The card was issued, or is answered again for the same idempotency key. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Card"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["TemplateNotFound"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            "5XX": components["responses"]["Temporary"];
        };
    };
    getCard: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * Identifier of the card, as answered when it was issued.
                 * @example card_8sT2kq
                 */
                id: components["parameters"]["CardId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** The card. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Card"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["CardNotFound"];
            429: components["responses"]["TooManyRequests"];
            "5XX": components["responses"]["Temporary"];
        };
    };
    listOperations: {
        parameters: {
            query?: {
                /**
                 * How many operations to answer, 20 when absent. More than 100 is answered as 100.
                 * @example 20
                 */
                limit?: components["parameters"]["Limit"];
            };
            header?: never;
            path: {
                /**
                 * Identifier of the card, as answered when it was issued.
                 * @example card_8sT2kq
                 */
                id: components["parameters"]["CardId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** The newest operations. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["CardNotFound"];
            429: components["responses"]["TooManyRequests"];
            "5XX": components["responses"]["Temporary"];
        };
    };
    getConsent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * Identifier of the card, as answered when it was issued.
                 * @example card_8sT2kq
                 */
                id: components["parameters"]["CardId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** The consent as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsentState"];
                };
            };
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["CardNotFound"];
            429: components["responses"]["TooManyRequests"];
            "5XX": components["responses"]["Temporary"];
        };
    };
    setConsent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * Identifier of the card, as answered when it was issued.
                 * @example card_8sT2kq
                 */
                id: components["parameters"]["CardId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ConsentChange"];
            };
        };
        responses: {
            /** The consent as it is after the change. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsentState"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            404: components["responses"]["CardNotFound"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooManyRequests"];
            "5XX": components["responses"]["Temporary"];
        };
    };
    onCardAdded: {
        parameters: {
            query?: never;
            header: {
                /**
                 * The event type. Not covered by the signature, so decide on `type` of the body instead.
                 * @example balance.changed
                 */
                "Service-Event": components["parameters"]["ServiceEvent"];
                /**
                 * Identifies the delivery. Not covered by the signature, so deduplicate on `id` of the body.
                 * @example dlv_3Zk0aP
                 */
                "Service-Delivery": components["parameters"]["ServiceDelivery"];
                /**
                 * `t` is the unix time in seconds; `v1` is the hex HMAC-SHA256 under the signing secret of `t`, a period and the unmodified body. Refuse a `t` more than 300 seconds away from now.
                 * @example t=1767225600,v1=5f1c3c6b1d0f0b1a7c2f9f5f6f4a7d8e9b0c1d2e3f405162738495a6b7c8d9e0
                 */
                "Service-Signature": components["parameters"]["ServiceSignature"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CardAddedEvent"];
            };
        };
        responses: {
            "2XX": components["responses"]["Received"];
            "4XX": components["responses"]["NotReceived"];
            "5XX": components["responses"]["NotReceived"];
        };
    };
    onCardRemoved: {
        parameters: {
            query?: never;
            header: {
                /**
                 * The event type. Not covered by the signature, so decide on `type` of the body instead.
                 * @example balance.changed
                 */
                "Service-Event": components["parameters"]["ServiceEvent"];
                /**
                 * Identifies the delivery. Not covered by the signature, so deduplicate on `id` of the body.
                 * @example dlv_3Zk0aP
                 */
                "Service-Delivery": components["parameters"]["ServiceDelivery"];
                /**
                 * `t` is the unix time in seconds; `v1` is the hex HMAC-SHA256 under the signing secret of `t`, a period and the unmodified body. Refuse a `t` more than 300 seconds away from now.
                 * @example t=1767225600,v1=5f1c3c6b1d0f0b1a7c2f9f5f6f4a7d8e9b0c1d2e3f405162738495a6b7c8d9e0
                 */
                "Service-Signature": components["parameters"]["ServiceSignature"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CardRemovedEvent"];
            };
        };
        responses: {
            "2XX": components["responses"]["Received"];
            "4XX": components["responses"]["NotReceived"];
            "5XX": components["responses"]["NotReceived"];
        };
    };
    onBalanceChanged: {
        parameters: {
            query?: never;
            header: {
                /**
                 * The event type. Not covered by the signature, so decide on `type` of the body instead.
                 * @example balance.changed
                 */
                "Service-Event": components["parameters"]["ServiceEvent"];
                /**
                 * Identifies the delivery. Not covered by the signature, so deduplicate on `id` of the body.
                 * @example dlv_3Zk0aP
                 */
                "Service-Delivery": components["parameters"]["ServiceDelivery"];
                /**
                 * `t` is the unix time in seconds; `v1` is the hex HMAC-SHA256 under the signing secret of `t`, a period and the unmodified body. Refuse a `t` more than 300 seconds away from now.
                 * @example t=1767225600,v1=5f1c3c6b1d0f0b1a7c2f9f5f6f4a7d8e9b0c1d2e3f405162738495a6b7c8d9e0
                 */
                "Service-Signature": components["parameters"]["ServiceSignature"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BalanceChangedEvent"];
            };
        };
        responses: {
            "2XX": components["responses"]["Received"];
            "4XX": components["responses"]["NotReceived"];
            "5XX": components["responses"]["NotReceived"];
        };
    };
    onTierChanged: {
        parameters: {
            query?: never;
            header: {
                /**
                 * The event type. Not covered by the signature, so decide on `type` of the body instead.
                 * @example balance.changed
                 */
                "Service-Event": components["parameters"]["ServiceEvent"];
                /**
                 * Identifies the delivery. Not covered by the signature, so deduplicate on `id` of the body.
                 * @example dlv_3Zk0aP
                 */
                "Service-Delivery": components["parameters"]["ServiceDelivery"];
                /**
                 * `t` is the unix time in seconds; `v1` is the hex HMAC-SHA256 under the signing secret of `t`, a period and the unmodified body. Refuse a `t` more than 300 seconds away from now.
                 * @example t=1767225600,v1=5f1c3c6b1d0f0b1a7c2f9f5f6f4a7d8e9b0c1d2e3f405162738495a6b7c8d9e0
                 */
                "Service-Signature": components["parameters"]["ServiceSignature"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TierChangedEvent"];
            };
        };
        responses: {
            "2XX": components["responses"]["Received"];
            "4XX": components["responses"]["NotReceived"];
            "5XX": components["responses"]["NotReceived"];
        };
    };
    onConsentChanged: {
        parameters: {
            query?: never;
            header: {
                /**
                 * The event type. Not covered by the signature, so decide on `type` of the body instead.
                 * @example balance.changed
                 */
                "Service-Event": components["parameters"]["ServiceEvent"];
                /**
                 * Identifies the delivery. Not covered by the signature, so deduplicate on `id` of the body.
                 * @example dlv_3Zk0aP
                 */
                "Service-Delivery": components["parameters"]["ServiceDelivery"];
                /**
                 * `t` is the unix time in seconds; `v1` is the hex HMAC-SHA256 under the signing secret of `t`, a period and the unmodified body. Refuse a `t` more than 300 seconds away from now.
                 * @example t=1767225600,v1=5f1c3c6b1d0f0b1a7c2f9f5f6f4a7d8e9b0c1d2e3f405162738495a6b7c8d9e0
                 */
                "Service-Signature": components["parameters"]["ServiceSignature"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ConsentChangedEvent"];
            };
        };
        responses: {
            "2XX": components["responses"]["Received"];
            "4XX": components["responses"]["NotReceived"];
            "5XX": components["responses"]["NotReceived"];
        };
    };
    onPing: {
        parameters: {
            query?: never;
            header: {
                /**
                 * The event type. Not covered by the signature, so decide on `type` of the body instead.
                 * @example balance.changed
                 */
                "Service-Event": components["parameters"]["ServiceEvent"];
                /**
                 * Identifies the delivery. Not covered by the signature, so deduplicate on `id` of the body.
                 * @example dlv_3Zk0aP
                 */
                "Service-Delivery": components["parameters"]["ServiceDelivery"];
                /**
                 * `t` is the unix time in seconds; `v1` is the hex HMAC-SHA256 under the signing secret of `t`, a period and the unmodified body. Refuse a `t` more than 300 seconds away from now.
                 * @example t=1767225600,v1=5f1c3c6b1d0f0b1a7c2f9f5f6f4a7d8e9b0c1d2e3f405162738495a6b7c8d9e0
                 */
                "Service-Signature": components["parameters"]["ServiceSignature"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PingEvent"];
            };
        };
        responses: {
            "2XX": components["responses"]["Received"];
            "4XX": components["responses"]["NotReceived"];
            "5XX": components["responses"]["NotReceived"];
        };
    };
}
