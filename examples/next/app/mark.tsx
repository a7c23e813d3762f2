/** The shop's logo: a cup on waves. */

export const Mark = () => (
  <svg
    className="mark"
    viewBox="0 0 32 32"
    fill="none"
    strokeWidth="1.8"
    aria-hidden="true"
  >
    <circle cx="16" cy="16" r="16" fill="var(--brand)" />
    <path d="M9 9h12v6.5a6 6 0 0 1-12 0z" fill="#fff" />
    <path d="M21 11h1.5a2.75 2.75 0 0 1 0 5.5H21" stroke="#fff" />
    <path d="M6.5 24.5q2.4-2 4.75 0t4.75 0 4.75 0 4.75 0" stroke="#fff" />
  </svg>
);
