/** The layout of every page. */
import "./shop.css";
import type { Metadata, Viewport } from "next";
import Link from "next/link";
import type { ReactNode } from "react";
import { Mark } from "./mark";

export const metadata: Metadata = {
  title: { default: "Harbour Coffee Club", template: "%s · Harbour Coffee" },
  description: "Join the club of Harbour Coffee: points with every cup.",
};
export const viewport: Viewport = { colorScheme: "light dark" };

export default function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>
        <header>
          <Link href="/" className="brand">
            <Mark /> Harbour Coffee
          </Link>
        </header>
        <main>{children}</main>
        <footer className="row quiet">
          <span>Harbour Coffee, Old Pier 4</span>
          <Link href="/privacy">Privacy notice</Link>
        </footer>
      </body>
    </html>
  );
}
