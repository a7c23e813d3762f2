/** The published types of the entry point that needs msw. */
import { createMockService } from "@loyalty-cards/mock-server";
import { mockHandlers } from "@loyalty-cards/mock-server/msw";
import { setupServer } from "msw/node";

export const server = setupServer(...mockHandlers(createMockService()));
