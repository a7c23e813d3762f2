/** The layout of every page. */
import "./shop.css";
import type { Metadata, Viewport } from "next";
import Link from "next/link";
import type { ReactNode } from "react";

export const metadata: Metadata = {
  title: "Harbour Coffee Club",
  description: "Join the club of Harbour Coffee: points with every cup.",
};
export const viewport: Viewport = { colorScheme: "light dark" };

export default function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>
        <header>
          <Link href="/" className="brand">
            <img src="/icon.svg" alt="" /> Harbour Coffee
          </Link>
        </header>
        <main>{children}</main>
        <footer className="quiet">Harbour Coffee, Old Pier 4</footer>
      </body>
    </html>
  );
}
