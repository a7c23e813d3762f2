/** How long until a moment, and how far the service's clock is ahead. */
import { formatDuration } from "@loyalty-cards/internal/format";

/** Shorter, for a phone: no seconds from a minute on, and only hours from ten hours on. */
function formatShort(ms) {
  const minutes = Math.round(ms / 60_000);
  if (minutes >= 600) return `${Math.round(minutes / 60)} h`;
  return formatDuration(ms < 60_000 ? ms : minutes * 60_000);
}

/** The time until a moment, on the service's clock. */
export const formatUntil = (iso, now) => formatShort(Date.parse(iso) - Date.parse(now));

/** "6 h ahead" of real time; the browser's clock may differ by some seconds from the machine's. */
export function formatAhead(iso) {
  const ms = Date.parse(iso) - Date.now();
  return ms < 30_000 ? "" : `${formatShort(ms)} ahead`;
}
