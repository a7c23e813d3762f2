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
         * Issue a card to a new or known customer
         * Finds the customer by phone, then by email, or creates one; issues a card from the template; records the privacy consent and, if given, the marketing consent. A repeated request with the same `Idempotency-Key` within 24 hours returns the same card with 201 and creates nothing. After a 5xx or a lost response, repeat the request with the same key.
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
         * Read a card with its balance and tier
         * Returns the current state of the card.
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
         * List the operations of a card, newest first
         * Returns the newest operations of the card.
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
         * Read the marketing consent
         * Returns the marketing consent of the customer.
         */
        get: operations["getConsent"];
        /**
         * Give or withdraw the marketing consent
         * Gives or withdraws the marketing consent of the customer. A change emits `consent.changed`. Setting the current value emits nothing.
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
         * Sent when a card is added to one of the two wallets.
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
         * Sent after a purchase, redemption, reward, correction or cancellation. Deliveries may arrive twice and in any order: use `balance`, and never add up `change`.
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
         * The card reached another tier
         * Sent when the tier changes, also when old purchases expire.
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
         * The marketing consent was given or withdrawn
         * Sent when the marketing consent of a customer changes. Contains all cards of the customer.
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
         * Sent by "Send test" in the console. Signed like every other event.
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
             * URL of the public card page, and target of the QR code.
             */
            publicUrl: string;
            /** The state of the card; `active` for a new card. */
            status: "active" | (string & {});
            /** Identifier of the customer. */
            customerId: string;
            /** The current balance in points or stamps; 0 for a new card. */
            loyaltyBalance: number;
            /** The name of the current tier; null for a new card. */
            loyaltyTier: string | null;
            /** `website` when the card was issued with a Website key. */
            issuedVia: "website" | "api" | (string & {});
            fieldValues: components["schemas"]["FieldValues"];
        };
        /** Map from a field key of the template to its value. */
        FieldValues: {
            [key: string]: string | number;
        };
        /** The customer, and the field values of the card. */
        IssueCardRequest: {
            fieldValues?: components["schemas"]["FieldValues"];
            customer: components["schemas"]["Customer"];
        };
        /** The customer, matched by phone, then by email. */
        Customer: {
            /** In E.164 or local format. */
            phone?: string;
            /** Matches the customer if no phone matches. */
            email?: string;
            /** The customer's name. */
            name?: string;
            consents: components["schemas"]["Consents"];
        };
        /** The consents given at sign-up. */
        Consents: {
            /** The privacy text that the customer accepted. */
            privacy: {
                /** Version label of that text; not blank. */
                version: string;
            };
            /** Present only if the customer opted in to marketing; may be empty. */
            marketing?: {
                /** Version label of the marketing text. */
                version?: string;
            };
        };
        /** An entry in the history of a card. */
        Operation: {
            /** Identifier of the operation. */
            id: string;
            type: components["schemas"]["OperationType"];
            /** Signed change of the balance, in points or stamps. Absent if the service does not send it. */
            change?: number;
            /** Balance after the operation, in points or stamps. Absent if the service does not send it. */
            balance?: number;
            /**
             * Format: date-time
             * Time of the operation, as the service sent it. Absent if the service does not send it.
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
        /** The marketing consent of a customer. */
        ConsentState: {
            /** The customer. */
            customer: Record<string, unknown>;
            /** Whether the customer agreed to marketing; false if withdrawn or never given. */
            marketingConsent: boolean;
        };
        /** A change of the marketing consent. */
        ConsentChange: {
            /** true gives, false withdraws. */
            marketing: boolean;
            /** Version label of the consent text, if known. */
            version?: string;
        };
        /** A card was added to a wallet. */
        CardAddedEvent: {
            /** The same in every delivery of the event. Use it for deduplication. */
            id: string;
            /**
             * The event type.
             * @constant
             */
            type: "card.added";
            /**
             * Format: date-time
             * Time of the event: ISO 8601, UTC with milliseconds.
             */
            createdAt: string;
            data: components["schemas"]["WalletChange"];
        };
        /** A card was removed from a wallet. */
        CardRemovedEvent: {
            /** The same in every delivery of the event. Use it for deduplication. */
            id: string;
            /**
             * The event type.
             * @constant
             */
            type: "card.removed";
            /**
             * Format: date-time
             * Time of the event: ISO 8601, UTC with milliseconds.
             */
            createdAt: string;
            data: components["schemas"]["WalletChange"];
        };
        /** The card and the wallet. */
        WalletChange: {
            /** Identifier of the card. */
            passId: string;
            /** Identifier of the customer. */
            customerId?: string;
            /** The wallet; the mock service sends `apple` or `google`. The values are not specified, so any JSON value is possible. */
            wallet?: unknown;
        };
        /** Points or stamps changed. Use `data.balance`, and never add up `data.change`. */
        BalanceChangedEvent: {
            /** The same in every delivery of the event. Use it for deduplication. */
            id: string;
            /**
             * The event type.
             * @constant
             */
            type: "balance.changed";
            /**
             * Format: date-time
             * Time of the event: ISO 8601, UTC with milliseconds.
             */
            createdAt: string;
            /** The new balance and its cause. */
            data: {
                /** Identifier of the card. */
                passId: string;
                /** Identifier of the customer. */
                customerId?: string;
                /** The new balance, in points or stamps. */
                balance: number;
                /** Signed change of the balance, in points or stamps. */
                change?: number;
                /** The operation that changed the balance. */
                operation?: {
                    /** Identifier of the operation. */
                    id: string;
                    type: components["schemas"]["OperationType"];
                };
            };
        };
        /** The card reached another tier. */
        TierChangedEvent: {
            /** The same in every delivery of the event. Use it for deduplication. */
            id: string;
            /**
             * The event type.
             * @constant
             */
            type: "tier.changed";
            /**
             * Format: date-time
             * Time of the event: ISO 8601, UTC with milliseconds.
             */
            createdAt: string;
            /** The new tier and the previous one. */
            data: {
                /** Identifier of the card. */
                passId: string;
                /** Identifier of the customer. */
                customerId?: string;
                /** The new tier; the mock service sends its name or null. The format is not specified. */
                tier?: unknown;
                /** The previous tier; the mock service sends its name or null. The format is not specified. */
                previous?: unknown;
            };
        };
        /** The marketing consent was given or withdrawn. */
        ConsentChangedEvent: {
            /** The same in every delivery of the event. Use it for deduplication. */
            id: string;
            /**
             * The event type.
             * @constant
             */
            type: "consent.changed";
            /**
             * Format: date-time
             * Time of the event: ISO 8601, UTC with milliseconds.
             */
            createdAt: string;
            /** The current consent. */
            data: {
                /** Identifier of the customer. */
                customerId?: string;
                /** true if given, false if withdrawn. The format is not specified, so compare with `=== true`. */
                marketingConsent?: unknown;
                /** All cards of the customer. */
                passIds: string[];
            };
        };
        /** A test sent from the console. */
        PingEvent: {
            /** The same in every delivery of the event. Use it for deduplication. */
            id: string;
            /**
             * The event type.
             * @constant
             */
            type: "ping";
            /**
             * Format: date-time
             * Time of the event: ISO 8601, UTC with milliseconds.
             */
            createdAt: string;
            /** Not specified, so any JSON value is possible, or none. */
            data?: unknown;
        };
        /** RFC 9457 problem details. */
        Problem: {
            /**
             * Format: uri-reference
             * Identifies the kind of problem.
             */
            type: string;
            /** A short summary of the kind of problem. */
            title: string;
            /** The HTTP status. */
            status: number;
            /** Details of this problem. The detail of a 422 can be shown to the user. */
            detail: string;
            /** The rejected values, if the service lists them. */
            errors?: {
                /** JSON Pointer into the request body. */
                pointer: string;
                /** What is wrong with the value. */
                detail: string;
            }[];
        };
    };
    responses: {
        /** The request could not be parsed. */
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
        /** The template does not exist or is archived. */
        TemplateNotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** The card does not exist. */
        CardNotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** The body is too large. */
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
        /** A required value is missing, or a phone or email is malformed. `detail` may be shown to the user. */
        Invalid: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** Too many requests. Wait, then repeat the request. */
        TooManyRequests: {
            headers: {
                /**
                 * Seconds to wait, or a date.
                 * @example 2
                 */
                "Retry-After"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** A temporary failure. Repeat the same request, including its idempotency key. */
        Temporary: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** The receiver has accepted the event. The service does not retry. */
        Received: {
            headers: {
                [name: string]: unknown;
            };
            content?: never;
        };
        /** The receiver has not accepted the event. The service retries. */
        NotReceived: {
            headers: {
                [name: string]: unknown;
            };
            content?: never;
        };
    };
    parameters: {
        /**
         * Identifier of the template.
         * @example tpl_coffee
         */
        TemplateId: string;
        /**
         * Identifier of the card.
         * @example card_8sT2kq
         */
        CardId: string;
        /**
         * The same key within 24 hours returns the same card. Derive the key from your own user id, so that a retry after a crash has the same key.
         * @example lc1_pW9m3hBvS6c0d5hVZ0k8o7r0Yc1uQxqYd3aVgqk1T2E
         */
        IdempotencyKey: string;
        /**
         * The maximum number of operations, 20 by default. A value above 100 counts as 100.
         * @example 20
         */
        Limit: number;
        /**
         * The event type. Not covered by the signature, so use `type` in the body instead.
         * @example balance.changed
         */
        ServiceEvent: string;
        /**
         * Identifies the delivery. Not covered by the signature, so deduplicate by `id` in the body.
         * @example dlv_3Zk0aP
         */
        ServiceDelivery: string;
        /**
         * `t` is the Unix time in seconds. `v1` is the hex HMAC-SHA256 of `t`, a period and the unmodified body, with the signing secret as the key. Reject a `t` that differs from the current time by more than 300 seconds.
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
                 * The same key within 24 hours returns the same card. Derive the key from your own user id, so that a retry after a crash has the same key.
                 * @example lc1_pW9m3hBvS6c0d5hVZ0k8o7r0Yc1uQxqYd3aVgqk1T2E
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * Identifier of the template.
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
            /** The issued card, or the card that was issued before with the same idempotency key. */
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
                 * Identifier of the card.
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
                 * The maximum number of operations, 20 by default. A value above 100 counts as 100.
                 * @example 20
                 */
                limit?: components["parameters"]["Limit"];
            };
            header?: never;
            path: {
                /**
                 * Identifier of the card.
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
                 * Identifier of the card.
                 * @example card_8sT2kq
                 */
                id: components["parameters"]["CardId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** The current consent. */
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
                 * Identifier of the card.
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
            /** The consent after the change. */
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
                 * The event type. Not covered by the signature, so use `type` in the body instead.
                 * @example balance.changed
                 */
                "Service-Event": components["parameters"]["ServiceEvent"];
                /**
                 * Identifies the delivery. Not covered by the signature, so deduplicate by `id` in the body.
                 * @example dlv_3Zk0aP
                 */
                "Service-Delivery": components["parameters"]["ServiceDelivery"];
                /**
                 * `t` is the Unix time in seconds. `v1` is the hex HMAC-SHA256 of `t`, a period and the unmodified body, with the signing secret as the key. Reject a `t` that differs from the current time by more than 300 seconds.
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
                 * The event type. Not covered by the signature, so use `type` in the body instead.
                 * @example balance.changed
                 */
                "Service-Event": components["parameters"]["ServiceEvent"];
                /**
                 * Identifies the delivery. Not covered by the signature, so deduplicate by `id` in the body.
                 * @example dlv_3Zk0aP
                 */
                "Service-Delivery": components["parameters"]["ServiceDelivery"];
                /**
                 * `t` is the Unix time in seconds. `v1` is the hex HMAC-SHA256 of `t`, a period and the unmodified body, with the signing secret as the key. Reject a `t` that differs from the current time by more than 300 seconds.
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
                 * The event type. Not covered by the signature, so use `type` in the body instead.
                 * @example balance.changed
                 */
                "Service-Event": components["parameters"]["ServiceEvent"];
                /**
                 * Identifies the delivery. Not covered by the signature, so deduplicate by `id` in the body.
                 * @example dlv_3Zk0aP
                 */
                "Service-Delivery": components["parameters"]["ServiceDelivery"];
                /**
                 * `t` is the Unix time in seconds. `v1` is the hex HMAC-SHA256 of `t`, a period and the unmodified body, with the signing secret as the key. Reject a `t` that differs from the current time by more than 300 seconds.
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
                 * The event type. Not covered by the signature, so use `type` in the body instead.
                 * @example balance.changed
                 */
                "Service-Event": components["parameters"]["ServiceEvent"];
                /**
                 * Identifies the delivery. Not covered by the signature, so deduplicate by `id` in the body.
                 * @example dlv_3Zk0aP
                 */
                "Service-Delivery": components["parameters"]["ServiceDelivery"];
                /**
                 * `t` is the Unix time in seconds. `v1` is the hex HMAC-SHA256 of `t`, a period and the unmodified body, with the signing secret as the key. Reject a `t` that differs from the current time by more than 300 seconds.
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
                 * The event type. Not covered by the signature, so use `type` in the body instead.
                 * @example balance.changed
                 */
                "Service-Event": components["parameters"]["ServiceEvent"];
                /**
                 * Identifies the delivery. Not covered by the signature, so deduplicate by `id` in the body.
                 * @example dlv_3Zk0aP
                 */
                "Service-Delivery": components["parameters"]["ServiceDelivery"];
                /**
                 * `t` is the Unix time in seconds. `v1` is the hex HMAC-SHA256 of `t`, a period and the unmodified body, with the signing secret as the key. Reject a `t` that differs from the current time by more than 300 seconds.
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
                 * The event type. Not covered by the signature, so use `type` in the body instead.
                 * @example balance.changed
                 */
                "Service-Event": components["parameters"]["ServiceEvent"];
                /**
                 * Identifies the delivery. Not covered by the signature, so deduplicate by `id` in the body.
                 * @example dlv_3Zk0aP
                 */
                "Service-Delivery": components["parameters"]["ServiceDelivery"];
                /**
                 * `t` is the Unix time in seconds. `v1` is the hex HMAC-SHA256 of `t`, a period and the unmodified body, with the signing secret as the key. Reject a `t` that differs from the current time by more than 300 seconds.
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
