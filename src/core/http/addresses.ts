import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export interface Networks {
  /** @param text - an address as a socket or a proxy writes it. @returns false for any other text. */
  has(text: string): boolean;
}

/** Destinations outside the public internet to which the service is allowed to send requests. */
export interface AllowedDestinations {
  /** Host names in lower case. */
  readonly hosts: ReadonlySet<string>;
  readonly networks: Networks | undefined;
}

/** @param cidrs - valid networks or addresses. IPv4 networks also match IPv4 addresses mapped into IPv6 (::ffff:192.0.2.1). */
export function createNetworks(cidrs: readonly string[]): Networks {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const { address, bits } = parseNetwork(cidr) ?? {};
    if (address === undefined || bits === undefined) throw new TypeError(`${cidr} is not a network.`);
    list.addSubnet(address, bits, familyOf(address));
  }
  return {
    has(text) {
      const address = readAddress(text);
      return address !== undefined && list.check(address, familyOf(address));
    },
  };
}

/** @returns undefined for text that is neither a network such as 10.0.0.0/8 nor an address. */
function parseNetwork(cidr: string): { address: string; bits: number } | undefined {
  const [address = '', bits, ...rest] = cidr.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return undefined;
  const maxBits = family === 6 ? 128 : 32;
  if (bits === undefined) return { address, bits: maxBits };
  return /^\d{1,3}$/.test(bits) && Number(bits) <= maxBits ? { address, bits: Number(bits) } : undefined;
}

/**
 * Classifies the size of a network for configuration checks. IPv4 mapped into IPv6 counts as IPv4.
 * @param widest - the shortest allowed prefix lengths.
 */
export function sizeOf(
  cidr: string,
  widest: { ipv4: number; ipv6: number },
): 'invalid' | 'every address' | 'too wide' | 'allowed' {
  const { address, bits } = parseNetwork(cidr) ?? {};
  if (address === undefined || bits === undefined) return 'invalid';
  const ip = ipaddr.parse(address);
  if (ip instanceof ipaddr.IPv4)
    return bits === 0 ? 'every address' : bits < widest.ipv4 ? 'too wide' : 'allowed';
  const containsAllIPv4 = bits <= MAPPED_BITS && ALL_IPV4.match(ip, bits);
  if (bits === 0 || containsAllIPv4) return 'every address';
  const isMapped = bits > MAPPED_BITS && ip.isIPv4MappedAddress();
  return bits < (isMapped ? MAPPED_BITS + widest.ipv4 : widest.ipv6) ? 'too wide' : 'allowed';
}

/** All of IPv4, mapped into IPv6: ::ffff:0:0/96. */
const ALL_IPV4 = ipaddr.IPv6.parse('::ffff:0:0');
const MAPPED_BITS = 96;

/**
 * Reads an address from text. Removes the zone of a link-local address, and the client's port, which some proxies append:
 * 192.0.2.1:49152 or [2001:db8::1]:49152.
 * @returns undefined for text without an address.
 */
export function readAddress(text: string): string | undefined {
  const [, inBrackets] = /^\[(.+)\](?::\d+)?$/.exec(text) ?? [];
  const [, beforePort] = /^([\d.]+):\d+$/.exec(text) ?? [];
  const [address = ''] = (inBrackets ?? beforePort ?? text).split('%');
  return isIP(address) === 0 ? undefined : address;
}

/**
 * The key for the rate limit of an address. For IPv6, the key is the /64 network, because a provider assigns a whole /64 to one
 * customer. IPv4 mapped into IPv6 counts as IPv4.
 */
export function clientKey(given: string): string {
  const address = readAddress(given);
  if (address === undefined) return given;
  const ip = ipaddr.process(address);
  if (ip instanceof ipaddr.IPv4) return ip.toString();
  return `${ip.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}
