/** Parses addresses, and recognizes those of this machine and of private networks. */

/** Parses an address; undefined when it is none. Jest 29 with jsdom has no `URL.canParse`. */
export function parseUrl(address: string | URL | undefined): URL | undefined {
  try {
    return new URL(String(address));
  } catch {
    return undefined;
  }
}

/**
 * Whether a host name or address is this machine.
 * @param hostname as in `URL.hostname`.
 */
export function isLoopback(hostname: string): boolean {
  const host = normalizeHost(hostname);
  return (
    host === "localhost" ||
    host.endsWith(".localhost") ||
    host === "[::1]" ||
    /^127(\.\d+){3}$/.test(host)
  );
}

/** Formats an address for a line, without its host when that is this machine: ":3000/webhooks". */
export const formatAddress = (url: string): string =>
  url.replace(/^https?:\/\/(?:(?:localhost|127\.0\.0\.1)(?=[:/]|$))?/, "");

/** IPv4 addresses that the internet cannot reach: the first one, and how many bits all have. */
const privateIpv4: readonly (readonly [address: string, bits: number])[] = [
  ["0.0.0.0", 8], // unspecified
  ["10.0.0.0", 8], // RFC 1918
  ["100.64.0.0", 10], // shared by the customers of a provider, RFC 6598
  ["127.0.0.0", 8], // this machine
  ["169.254.0.0", 16], // link-local, RFC 3927
  ["172.16.0.0", 12], // RFC 1918
  ["192.168.0.0", 16], // RFC 1918
  ["224.0.0.0", 4], // multicast
  ["240.0.0.0", 4], // reserved, and broadcast
];

function isPrivateIpv4(host: string): boolean {
  if (!/^\d+(\.\d+){3}$/.test(host)) return false;
  return privateIpv4.some(([address, bits]) => {
    const shift = 32 - bits;
    return toNumber(host) >>> shift === toNumber(address) >>> shift;
  });
}

const toNumber = (address: string): number =>
  address.split(".").reduce((number, part) => number * 256 + Number(part), 0);

/** ::, ::1, 64:ff9b::/96 (IPv4 behind a translator), fc00::/7 and fe80::/10. */
const privateIpv6 = /^\[(?:::1?\]|64:ff9b::|f[cd][\da-f]{2}:|fe[89ab][\da-f]:)/;
/** Names that public DNS does not have: without a dot, or with a suffix for local networks. */
const privateName = /^[^.[]+$|\.(?:localhost|local|lan|internal|home\.arpa)$/;

/**
 * Whether the internet cannot reach a host name or address. Names are not resolved.
 * @param hostname as in `URL.hostname`.
 */
export function isPrivate(hostname: string): boolean {
  const host = normalizeHost(hostname);
  return isPrivateIpv4(host) || privateIpv6.test(host) || privateName.test(host);
}

/**
 * Whether a development tool may deliver to an address: by https, or by http to this machine and
 * its network, such as another container. The service itself needs https (spec 6.3.5).
 */
export const canForwardTo = ({ protocol, hostname }: URL): boolean =>
  protocol === "https:" || (protocol === "http:" && isPrivate(hostname));

/**
 * Removes a final dot, and rewrites an IPv4 address in the form of IPv6 (`[::ffff:a00:1]`) as IPv4.
 */
function normalizeHost(hostname: string): string {
  const [, high, low] = /^\[::ffff:([\da-f]{1,4}):([\da-f]{1,4})\]$/.exec(hostname) ?? [];
  if (high === undefined || low === undefined) return hostname.replace(/\.$/, "");
  return [high, low]
    .flatMap((part) => [Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 255])
    .join(".");
}
