/** Recognizes the host names and addresses of this machine and of private networks. */

/** Whether a host name or address is this machine. @param hostname as in `URL.hostname`. */
export function isLoopback(hostname: string): boolean {
  const host = toIpv4(hostname);
  return (
    host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127(\.\d+){3}$/.test(host)
  );
}

/** Private, shared, link-local, loopback and unspecified IPv4 addresses (RFC 1918, 6598, 3927, 1122). */
const privateIpv4 =
  /^(?:0|10|127|169\.254|192\.168|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\.[\d.]+$/;
/** ::, ::1, fc00::/7 and fe80::/10. */
const privateIpv6 = /^\[(?:::1?\]|f[cd][\da-f]{2}:|fe[89ab][\da-f]:)/;
/** Names that public DNS does not have: without a dot, or with a suffix for local networks. */
const privateName = /^[^.[]+$|\.(?:localhost|local|lan|internal|home\.arpa)$/;

/** Whether the internet cannot reach a host name or address. Names are not resolved. @param hostname as in `URL.hostname`. */
export function isPrivate(hostname: string): boolean {
  const host = toIpv4(hostname);
  return privateIpv4.test(host) || privateIpv6.test(host) || privateName.test(host);
}

/** Removes a final dot, and rewrites an IPv4 address in the form of IPv6 (`[::ffff:a00:1]`) as IPv4. */
function toIpv4(hostname: string): string {
  const [, high, low] = /^\[::ffff:([\da-f]{1,4}):([\da-f]{1,4})\]$/.exec(hostname) ?? [];
  if (high === undefined || low === undefined) return hostname.replace(/\.$/, "");
  return [high, low]
    .flatMap((part) => [Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 255])
    .join(".");
}
