import { BlockList, isIP, isIPv6 } from 'node:net';

/** A list of IP networks. */
export interface Networks {
  /** @param text an address as a socket or a proxy writes it; text that is none is in no network. */
  has(text: string): boolean;
}

/** @param cidrs networks or single addresses, which have been checked; IPv4 also holds where it is mapped into IPv6. */
export function createNetworks(cidrs: readonly string[]): Networks {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', bits] = cidr.split('/');
    const family = familyOf(address);
    list.addSubnet(address, bits === undefined ? (family === 'ipv6' ? 128 : 32) : Number(bits), family);
  }
  return {
    has(text) {
      const address = readAddress(text);
      return address !== undefined && list.check(address, familyOf(address));
    },
  };
}

/**
 * Some proxies write the client's port, too: 192.0.2.1:49152 or [2001:db8::1]:49152. A zone says where a link-local address
 * is, not whose it is.
 * @returns undefined for text that holds no address.
 */
export function readAddress(text: string): string | undefined {
  const [, inBrackets] = /^\[(.+)\](?::\d+)?$/.exec(text) ?? [];
  const [, beforePort] = /^([\d.]+):\d+$/.exec(text) ?? [];
  const [address = ''] = (inBrackets ?? beforePort ?? text).split('%');
  return isIP(address) === 0 ? undefined : address;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}
