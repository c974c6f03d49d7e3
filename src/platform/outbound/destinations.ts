import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type AllowedDestinations, readAddress } from '../../core/http/addresses.ts';

/** Ports of hosts that are not in WEBHOOKS_OUT_ALLOW: 443, or 1024 and higher, so that no request reaches mail or SSH. */
const HTTPS_PORT = 443;
const FIRST_UNPRIVILEGED_PORT = 1024;

/**
 * Checks an address from a user, as far as possible without DNS. `mayConnect` checks the answers of DNS.
 * @returns the problem, as the end of a sentence that starts with the name of the field.
 */
export function problemOfDestination(text: string, allowed: AllowedDestinations): string | undefined {
  // The parser removes or replaces these characters, so the address that is called would differ from the one that is shown.
  if (/[\s\\]/.test(text) || !URL.canParse(text))
    return 'must be an address such as https://erp.example.com/hooks';
  // The parser turns a decimal, octal or hexadecimal host into the usual form: 0x7f000001 becomes 127.0.0.1.
  const { protocol, hostname, port, username, password, hash } = new URL(text);
  if (protocol !== 'https:' && protocol !== 'http:') return 'must start with https://';
  if (username !== '' || password !== '') return 'must not contain a user or password';
  // The parser also finds a host in https:host, https:///host and https://@host.
  if (!/^https?:\/\/[^/?#@]+([/?#]|$)/i.test(text))
    return 'must be an address such as https://erp.example.com/hooks';
  if (hash !== '' || text.endsWith('#')) return 'must not contain #';
  const isAllowed = isAllowedHost(hostname, allowed);
  if (protocol === 'http:' && !isAllowed)
    return 'must start with https://; only hosts in WEBHOOKS_OUT_ALLOW may use http://';
  if (!isAllowed && port !== '' && Number(port) !== HTTPS_PORT && Number(port) < FIRST_UNPRIVILEGED_PORT)
    return `must use port ${HTTPS_PORT}, or port ${FIRST_UNPRIVILEGED_PORT} or higher`;
  if (!isAllowed && /(^|\.)localhost\.?$/i.test(hostname)) return NOT_PUBLIC;
  const address = readAddress(hostname);
  if (address !== undefined && !mayConnect(hostname, address, allowed)) return NOT_PUBLIC;
  return undefined;
}

export const NOT_PUBLIC =
  'must be a host of the public internet; WEBHOOKS_OUT_ALLOW can allow private hosts and networks';

/** Whether a connection to the address of a host is allowed. */
export function mayConnect(hostname: string, address: string, allowed: AllowedDestinations): boolean {
  return isPublicAddress(address) || isAllowedHost(address, allowed) || isAllowedHost(hostname, allowed);
}

/** @param host a name, or an address. */
function isAllowedHost(host: string, { hosts, networks }: AllowedDestinations): boolean {
  return hosts.has(host.toLowerCase().replace(/\.$/, '')) || networks?.has(host) === true;
}

/** The only part of IPv6 that is assigned to the public internet: 2000::/3. */
const GLOBAL_UNICAST = ipaddr.IPv6.parse('2000::');
/** Azure serves metadata and DNS of its machines at this address, although the address is in a public range. */
const AZURE_HOST = '168.63.129.16';

/**
 * Whether an address belongs to the public internet. It must not be private, local, reserved, the metadata service of a cloud, or
 * an IPv6 form that contains an IPv4 address.
 *
 * @param text an address as a resolver returns it. Other text is not public.
 */
function isPublicAddress(text: string): boolean {
  if (isIP(text) === 0 || text === AZURE_HOST) return false;
  const ip = ipaddr.parse(text);
  const isAssigned = ip instanceof ipaddr.IPv4 || GLOBAL_UNICAST.match(ip, 3);
  return isAssigned && ip.range() === 'unicast';
}
