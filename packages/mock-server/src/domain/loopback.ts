/** Tells names and addresses of this machine, and of private networks, from all others. */

/** @param hostname as a URL has it. */
export function isLoopback(hostname: string): boolean {
  const host = unmapped(hostname);
  return (
    host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127(\.\d+){3}$/.test(host)
  );
}

/** Private, shared, link-local and unspecified IPv4 addresses (RFC 1918, 6598, 3927, 1122), and this machine's. */
const privateIpv4 =
  /^(?:0|10|127|169\.254|192\.168|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\.[\d.]+$/;
/** ::, ::1, fc00::/7 and fe80::/10. */
const privateIpv6 = /^\[(?:::1?\]|f[cd][\da-f]{2}:|fe[89ab][\da-f]:)/;
/** Names that no public DNS has: without a dot, and of the suffixes for local networks. */
const privateName = /^[^.[]+$|\.(?:localhost|local|lan|internal|home\.arpa)$/;

/** Whether this is an address or a name that the internet cannot reach. Names are not resolved. @param hostname as a URL has it. */
export function isPrivate(hostname: string): boolean {
  const host = unmapped(hostname);
  return privateIpv4.test(host) || privateIpv6.test(host) || privateName.test(host);
}

/** Without a dot at the end; an IPv4 address that is written as IPv6 (::ffff:a00:1) as IPv4 again. */
function unmapped(hostname: string): string {
  const [, high, low] = /^\[::ffff:([\da-f]{1,4}):([\da-f]{1,4})\]$/.exec(hostname) ?? [];
  if (high === undefined || low === undefined) return hostname.replace(/\.$/, "");
  return [high, low]
    .flatMap((part) => [Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 255])
    .join(".");
}
